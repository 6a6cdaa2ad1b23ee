package yamledit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/yamledit"
)

type edit func(src []byte) ([]byte, error)

func add(path yamledit.Path, values ...string) edit {
	var list []jsontext.Value
	for _, v := range values {
		list = append(list, jsontext.Value(v))
	}
	return func(src []byte) ([]byte, error) { return yamledit.Append(src, path, list...) }
}

func set(path yamledit.Path, value string) edit {
	return func(src []byte) ([]byte, error) { return yamledit.Set(src, path, jsontext.Value(value)) }
}

func remove(path yamledit.Path) edit {
	return func(src []byte) ([]byte, error) { return yamledit.Remove(src, path) }
}

const binding = `{"name":"x","module":"builtin:x","capabilities":["block"],"config":{"a":1}}`

// What a person wrote stays byte for byte. Lines begin with a space, with > where they
// are new, and with < where they go.
func TestEdits(t *testing.T) {
	p := func(path ...any) yamledit.Path { return path }
	for _, c := range []struct {
		name string
		do   edit
		text []string // lines
	}{
		{"behind the last, before comments of the next member", add(p("hooks"), binding), []string{
			" hooks:   # ours", " -   name: a   # odd", "     m:  [1,2 ,3]", ">- name: x", ">  module: builtin:x",
			">  capabilities: [block]", ">  config:", ">    a: 1", " ", " # about limits", " limits: {}",
		}},
		{"behind the last one's own comments", add(p("hooks"), `"b"`),
			[]string{" hooks:", "     - a", "       # of a", ">    - b", "   # of none", " # at the end"}},
		{"into brackets that are empty", add(p("hooks"), `"b"`), []string{"<hooks: []", ">hooks:", ">  - b", " # end"}},
		{"into nothing", add(p("hooks"), `"b"`), []string{" v: 1", " hooks: # none yet", ">  - b", " ", " w: 2"}},
		{"in the place of null", add(p("hooks"), `"b"`), []string{"<hooks: ~ # none", ">hooks: # none", ">  - b"}},
		{"as a new member", add(p("hooks"), `"b"`), []string{" v: 1", " # end", ">hooks:", ">  - b"}},
		{"as a new member of a new mapping", add(p("deny", "keys"), `"b c"`),
			[]string{" v: 1", ">deny:", ">  keys:", ">    - b c"}},
		{"as a new member of a mapping", add(p("deny", "keys"), `"b"`),
			[]string{" deny:", "      digests: [a]", "      # of digests", ">     keys:", ">       - b", " # end", " v: 1"}},
		{"into a mapping in brackets", add(p("deny", "keys"), `"b: c"`),
			[]string{"<deny: {digests: [a] } # note", `>deny: {digests: [a], keys: ["b: c"] } # note`}},
		{"into a list in brackets", add(p("deny", "keys"), `"b"`),
			[]string{"<deny: {keys: [ 'a, #]' , a]}", ">deny: {keys: [ 'a, #]' , a, b]}"}},
		{"into brackets over lines", add(p("l"), `"b"`),
			[]string{" l: [", "<  a   # of a, and [", ">  a, b   # of a, and [", " ]"}},
		{"into brackets with a last comma", add(p("l"), `"b"`),
			[]string{" l: [", "<  a,   # of a", ">  a, b   # of a", " ]"}},
		{"a member that is there", set(p("hooks", 1, "disabled"), "true"),
			[]string{" hooks:", " - name: a", "<- disabled:   false  # for now", ">- disabled:   true  # for now",
				"   name: b"}},
		{"a member that is not", set(p("hooks", 0, "disabled"), "true"),
			[]string{" hooks:", "   - name: a", "     text: |", "       # in the text", "", "       end", ">    disabled: true",
				" ", "   # of b", "   - name: b"}},
		{"a member in brackets", set(p("hooks", 0, "disabled"), "true"),
			[]string{"<hooks: [{name: a}, b]", ">hooks: [{name: a, disabled: true}, b]"}},
		{"an element", remove(p("hooks", 1)),
			[]string{" hooks:", " - a", " # of b", "<- b", "<  # in b", "", " # of c", " - c"}},
		{"the last element", remove(p("hooks", 0)), []string{"<hooks: # ours", "<  - b", ">hooks: [] # ours", " v: 1"}},
		{"an element in brackets", remove(p("l", 1)), []string{"<l: [a,  b , c] # l", ">l: [a,  c] # l"}},
		{"the last element in brackets", remove(p("l", 2)), []string{"<l: [a,  b , c ] # l", ">l: [a,  b  ] # l"}},
		{"a member", remove(p("h", "b")), []string{" h:", "   a: 1", "<  b: true", "   c: 2"}},
		{"a member of brackets", remove(p("h", "b")), []string{"<h: {a: 1, b: true}", ">h: {a: 1}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				before, after := "", ""
				for _, l := range c.text {
					switch {
					case strings.HasPrefix(l, "<"):
						before += l[1:] + eol
					case strings.HasPrefix(l, ">"):
						after += l[1:] + eol
					default:
						before, after = before+strings.TrimPrefix(l, " ")+eol, after+strings.TrimPrefix(l, " ")+eol
					}
				}
				out, err := c.do([]byte(before))
				if err != nil {
					t.Fatalf("%v of\n%s", err, before)
				}
				if string(out) != after {
					t.Errorf("%q\nwas made into\n%q\nwant\n%q", before, out, after)
				}
			}
		})
	}
}

// What cannot be edited alone is refused, with the place and what to do.
func TestByHand(t *testing.T) {
	p := func(path ...any) yamledit.Path { return path }
	for _, c := range []struct {
		name, text string
		do         edit
		want       error
	}{
		{"an element behind another dash", "l:\n- - a\n  - b\n", remove(p("l", 0, 0)), yamledit.ErrByHand},
		{"a member with a comment", "h:\n  a: 1\n  b: 2 # why\n", remove(p("h", "b")), yamledit.ErrByHand},
		{"a text over lines", "a: |\n  b\n", set(p("a"), `"c"`), yamledit.ErrByHand},
		{"line ends of old Macs", "l: [a]\rb: 1\r", add(p("l"), `"c"`), yamledit.ErrByHand},
		{"line ends that are not seen", "l: [a] # \u2028\n", add(p("l"), `"c"`), yamledit.ErrByHand},
		{"no list", "l: {}\n", add(p("l"), `"c"`), yamledit.ErrNotFound},
		{"no element", "l: []\n", remove(p("l", 0)), yamledit.ErrNotFound},
		{"no member", "l: {}\n", remove(p("l", "a")), yamledit.ErrNotFound},
		{"an anchor", "l: &a [b]\n", add(p("l"), `"c"`), strictyaml.ErrInvalid},
		{"no YAML", "l: [\n", add(p("l"), `"c"`), strictyaml.ErrInvalid},
	} {
		out, err := c.do([]byte(c.text))
		if !errors.Is(err, c.want) || out != nil {
			t.Errorf("%s: %q, %v", c.name, out, err)
		}
		if errors.Is(err, yamledit.ErrByHand) && !strings.HasPrefix(err.Error(), "edit by hand: ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
