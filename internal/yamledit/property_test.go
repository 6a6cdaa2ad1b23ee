package yamledit_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/yamledit"
)

// byHand draws a file as people write them: lists in each form, at any indentation,
// with comments and blank lines anywhere, of Unix or Windows.
func byHand(t *rapid.T) (text string, elements int) {
	var b strings.Builder
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	pad := func(n int) string { return strings.Repeat(" ", n) }
	trail := func() string {
		return rapid.SampledFrom([]string{"", "", "", " ", " # note", "   #'[{", " # \"x: ["}).Draw(t, "trail") + eol
	}
	loose := func() {
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "loose") {
			b.WriteString(rapid.SampledFrom([]string{"", "  ", "# - name: a", "   # l: [", "      #"}).Draw(t, "line") + eol)
		}
	}
	other := func(name string) {
		b.WriteString(rapid.SampledFrom([]string{name + ": 1", name + ":", name + ": \"# no: [\"",
			name + ": {a: [b], c: 'd}'}", name + ": it's [x"}).Draw(t, "other") + trail())
	}
	if rapid.Bool().Draw(t, "before") {
		other("a")
	}
	loose()
	elements = rapid.IntRange(0, 3).Draw(t, "elements")
	element := func(i int) string {
		return rapid.SampledFrom([]string{fmt.Sprint("e", i), fmt.Sprintf("'e %d'", i), fmt.Sprintf(`"e, %d # ]"`, i),
			fmt.Sprintf("{name: e%d, c: [1,  2]}", i)}).Draw(t, "element")
	}
	form := rapid.SampledFrom([]string{"block", "block", "block", "line", "lines"}).Draw(t, "form")
	switch {
	case elements == 0 && rapid.Bool().Draw(t, "missing"):
	case elements == 0:
		b.WriteString(rapid.SampledFrom([]string{"l:", "l:  ", "l: []", "l: [ ]", "l: ~", "l:   null"}).Draw(t, "empty") +
			trail())
	case form == "block":
		in, gap := rapid.IntRange(0, 5).Draw(t, "in"), rapid.IntRange(1, 4).Draw(t, "gap")
		b.WriteString("l:" + trail())
		for i := range elements {
			loose()
			if rapid.Bool().Draw(t, "scalar") {
				b.WriteString(pad(in) + "-" + pad(gap) + element(i) + trail())
				continue
			}
			at := pad(in + 1 + gap)
			b.WriteString(pad(in) + "-" + pad(gap) + fmt.Sprintf("name: e%d", i) + trail())
			if rapid.Bool().Draw(t, "text") {
				b.WriteString(at + "text: |" + eol + at + "   # in it" + eol + eol + at + "  - e" + eol)
			}
			b.WriteString(at + "list:" + trail() + at + "- x" + trail())
		}
	case form == "line":
		var parts []string
		for i := range elements {
			parts = append(parts, pad(rapid.IntRange(0, 2).Draw(t, "gap"))+element(i))
		}
		b.WriteString("l: [" + strings.Join(parts, ",") + rapid.SampledFrom([]string{"]", " ]", ",]", " , ]"}).Draw(t,
			"end") + trail())
	default:
		b.WriteString("l: [" + trail())
		for i := range elements {
			comma := ","
			if i == elements-1 {
				comma = rapid.SampledFrom([]string{"", ",", " ,"}).Draw(t, "comma")
			}
			b.WriteString(pad(rapid.IntRange(1, 4).Draw(t, "in")) + element(i) + comma + trail())
		}
		b.WriteString(" ]" + trail())
	}
	loose()
	if rapid.Bool().Draw(t, "after") || b.Len() == 0 || elements == 0 {
		other("z")
		loose()
	}
	text = b.String()
	if rapid.Bool().Draw(t, "cut") {
		text = strings.TrimRight(text, "\r\n")
	}
	return text, elements
}

// changed returns what differs between two texts, from the first byte to the last.
func changed(a, b []byte) (was, is string) {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	k := 0
	for k < len(a)-i && k < len(b)-i && a[len(a)-1-k] == b[len(b)-1-k] {
		k++
	}
	return string(a[i : len(a)-k]), string(b[i : len(b)-k])
}

// onlyAdds reports whether out is src with insertions, and without what `[]` or
// `null` took. It is the subsequence relation, over bytes.
func onlyAdds(src, out []byte) bool {
	i := 0
	for _, c := range out {
		if i < len(src) && src[i] == c {
			i++
		}
	}
	return i == len(src)
}

// Whatever a file looks like, an edit changes its entry, and no other byte.
func TestEverythingElseStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, n := byHand(t)
		src := []byte(text)
		if _, err := strictyaml.Parse(src); err != nil {
			t.Skip(err)
		}
		value := rapid.SampledFrom([]string{`"b"`, `"b: #"`, `{"name":"x","config":{"a":[1,{"b":null}]},"l":["c d"]}`,
			`"two\nlines\n"`, `""`, `"true"`}).Draw(t, "value")
		out, err := yamledit.Append(src, yamledit.Path{"l"}, jsontext.Value(value))
		if err != nil {
			t.Fatalf("append to\n%s\n%v", src, err)
		}
		was, _ := changed(src, out)
		if !onlyAdds(src, out) && strings.Trim(strings.TrimSpace(was), "[] ") != "" && strings.TrimSpace(was) != "~" &&
			strings.TrimSpace(was) != "null" && !emptyThenText(was) && !onlyAdds(withoutEmpty(src), out) {
			t.Fatalf("append to\n%s\nmade\n%s\nwhich changes %q", src, out, was)
		}
		back, err := yamledit.Remove(out, yamledit.Path{"l", n})
		if err != nil {
			t.Fatalf("what was added cannot be removed from\n%s\n%v", out, err)
		}
		if n > 0 && !bytes.Equal(back, src) && !bytes.Equal(bytes.TrimRight(back, "\r\n"), src) &&
			!strings.Contains(text, "l: [") {
			t.Fatalf("\n%s\nafter append and remove is\n%s", src, back)
		}
		for line := range strings.Lines(text) {
			if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "#") && strings.HasSuffix(text, "\n") &&
				!strings.Contains(string(back), comment) {
				t.Fatalf("\n%s\nafter append and remove is\n%s\nwithout %q", src, back, comment)
			}
		}
		for i := range n {
			out, err := yamledit.Remove(src, yamledit.Path{"l", i})
			if err != nil {
				t.Fatalf("remove %d of\n%s\n%v", i, src, err)
			}
			if !onlyAdds(out, src) && !onlyAdds(bytes.Replace(out, []byte(" []"), nil, 1), src) {
				t.Fatalf("remove %d of\n%s\nmade\n%s", i, src, out)
			}
			for line := range strings.Lines(text) { // comments that begin where no element can
				if strings.HasPrefix(line, "#") && strings.Count(string(out), line) < strings.Count(text, line) &&
					strings.HasSuffix(line, "\n") && !strings.Contains(text, "l: [") {
					t.Fatalf("remove %d of\n%s\nmade\n%s\nwithout %q", i, src, out, line)
				}
			}
		}
	})
}

// withoutEmpty takes an empty list out, which a list of lines takes the place of, further down.
func withoutEmpty(src []byte) []byte {
	for _, e := range []string{"l: []", "l: [ ]", "l: ~", "l:   null"} {
		if bytes.Contains(src, []byte(e)) {
			return bytes.Replace(src, []byte(e), []byte("l:"), 1)
		}
	}
	return src
}

// emptyThenText is what goes where an empty list ends a line with a comment or blanks.
func emptyThenText(was string) bool {
	for _, e := range []string{"[]", "[ ]", "~", "null"} {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(was, " "), e); ok &&
			(strings.TrimSpace(rest) == "" || strings.HasPrefix(strings.TrimLeft(rest, " "), "#")) {
			return true
		}
	}
	return false
}

// No text makes an edit panic or write another result than the wanted one.
func FuzzEdits(f *testing.F) {
	for _, s := range []string{"l: [a, {b: c}] # d\n", "l:\n- a\n  # b\n- c\n", "\ufeffl: ~\n", "---\nl:\n- - a\n...\n",
		"l: 'a'\n", "{l: [,], m: {}}", "l: [a,\n#]\n]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if strings.Contains(string(src), "\x00") {
			return
		}
		for name, do := range map[string]func() ([]byte, error){
			"append": func() ([]byte, error) { return yamledit.Append(src, yamledit.Path{"l"}, jsontext.Value(`{"x":["y"]}`)) },
			"deep":   func() ([]byte, error) { return yamledit.Append(src, yamledit.Path{"m", "n"}, jsontext.Value(`"x"`)) },
			"set":    func() ([]byte, error) { return yamledit.Set(src, yamledit.Path{"l", 0, "d"}, jsontext.Value(`true`)) },
			"remove": func() ([]byte, error) { return yamledit.Remove(src, yamledit.Path{"l", 0}) },
		} {
			out, err := do()
			if err != nil && !errors.Is(err, yamledit.ErrByHand) && !errors.Is(err, yamledit.ErrNotFound) &&
				!errors.Is(err, strictyaml.ErrInvalid) {
				t.Fatalf("%s: an error without class: %v", name, err)
			}
			if err != nil && out != nil {
				t.Fatalf("%s: %q beside %v", name, out, err)
			}
			if err == nil {
				if _, err := strictyaml.Parse(out); err != nil {
					t.Fatalf("%s of %q made %q: %v", name, src, out, err)
				}
			}
		}
	})
}
