package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/rules"
)

// A file says all of its faults at once: of each rule, as many as do not follow from each other.
func TestAllFaultsAreSaid(t *testing.T) {
	src := head +
		"  - {name: a, when: {tool: Bash}, block: '{x}', cannot_tell: no}\n" + // three
		"  - {name: b, when: {tool: read}, blok: no}\n" +
		"  - {name: a, when: {tool: read}, block: no}\n" +
		"  - {name: c, when: {tool: read}, block: no}\n" + // none
		"  - {name: c d, when: {}}\n" + // two
		"  - {name: e, when: {text: {match: '('}}, unless: {path: x}, ask: no}\n" + // two
		"  - {name: f, phase: audit, when: {}, block: no}\n" +
		"  - 3\n"
	_, err := rules.Parse("rules.yaml", []byte(src))
	if !errors.Is(err, rules.ErrRules) {
		t.Fatal(err)
	}
	var got []string
	for _, e := range rules.All(err) {
		got = append(got, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Pointer))
		if e.File != "rules.yaml" || e.Reason == "" {
			t.Errorf("%+v", e)
		}
	}
	want := []string{"3:22 /rules/0/when/tool", "3:35 /rules/0/block", "3:49 /rules/0/cannot_tell", "4:35 /rules/1/blok",
		"5:6 /rules/2/name", "7:5 /rules/4", "7:6 /rules/4/name", "8:29 /rules/5/when/text/match",
		"8:52 /rules/5/unless/path",
		"9:15 /rules/6/phase", "10:5 /rules/7"}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	const text = `rules.yaml:3:22: /rules/0/when/tool: "Bash" never matches: rules see that tool of claude-code as exec; rules.yaml:3:35: /rules/0/block: {x} stands for nothing`
	if !strings.HasPrefix(err.Error(), text) || !strings.HasSuffix(err.Error(), "; and 8 more") {
		t.Error(err)
	}
	// Many faults are cut, whatever they are.
	for _, rule := range []string{"  - {name: A%d, when: {}, block: no}\n", "  - {nam: a%d}\n",
		"  - {name: a%d, when: {}, fix: {/args/x: %[1]d}}\n"} {
		var b strings.Builder
		b.WriteString(head)
		for i := range rules.MaxRules {
			fmt.Fprintf(&b, rule, i)
		}
		_, err := rules.Parse("rules.yaml", []byte(b.String()))
		if n := len(rules.All(err)); n != 50 {
			t.Errorf("%s: %d faults", rule, n)
		}
	}
	if rules.All(errors.New("x")) != nil {
		t.Error("faults of another error")
	}
}

// What is no plain YAML is refused where it stands, or means what it says.
func TestYAMLThatIsNoPlainText(t *testing.T) {
	ok := "version: rules/v1\nrules:\n  - {name: a, when: {tool: read}, block: no}\n"
	laughs := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
	}
	for _, c := range []struct{ why, src, want string }{
		{"an anchor", head + "  - &x {name: a, when: {}, block: no}\n",
			"rules.yaml:3:5: /rules/0: anchors and aliases are not allowed"},
		{"an alias", head + "  - {name: a, when: {}, block: &x no}\n  - {name: b, when: {}, block: *x}\n", "rules.yaml:3:"},
		{"a merge key", head + "  - {name: a, <<: {when: {}}, block: no}\n", "rules.yaml:3:"},
		{"a bomb of aliases", laughs + ok, "rules.yaml:1:"},
		{"a tab", "version: rules/v1\nrules:\n\t- {name: a, when: {}, block: no}\n", "rules.yaml:3:"},
		{"a tab between members", "version: rules/v1\nrules:\n  - name: a\n    when: {}\n\tblock: no\n", "rules.yaml:5:"},
		{"a tag", head + "  - {name: !!binary aGk=, when: {}, block: no}\n",
			"rules.yaml:3:12: /rules/0/name: tag !!binary is not allowed"},
		{"a second document", ok + "---\n" + ok, "rules.yaml:4:"},
		{"a key that is no text", head + "  - {name: a, when: {1: 2}, block: no}\n",
			`rules.yaml:3:22: /rules/0/when/1: a key must be a text`},
		{"a deep document", head + "  - {name: a, when: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}\n",
			"nested deeper than"},
		{"bytes that are no UTF-8", head + "  - {name: a, when: {}, block: \"é\xe9\"}\n", "rules.yaml:3:34: not valid UTF-8"},
		{"a control character", head + "  - {name: a, when: {}, block: \"x\x01\"}\n", "rules.yaml:3:34: not YAML"},
		{"a NUL", head + "  - {name: a\x00, when: {}, block: no}\n", "rules.yaml:3:13: not YAML"},
		{"UTF-16", "\xff\xfev\x00e\x00", "rules.yaml:1:1: this is UTF-16: save it as UTF-8"},
		{"nothing", "", "rules.yaml: /version: must be rules/v1"},
		{"only a comment", "# x\n", "rules.yaml: /version: must be rules/v1"},
		{"null", "null\n", "rules.yaml:1:1: /version: must be rules/v1"},
		{"a list", "- a\n", "rules.yaml:1:1: "},
		{"rules that are none", "version: rules/v1\nrules: null\n", "rules.yaml:2:1: /rules: has no rule"},
		{"a rule that is none", head + "  - null\n", "rules.yaml:3:5: /rules/0: has no answer"},
		{"a when that is none", head + "  - {name: a, when: null, block: no}\n", "rules.yaml:3:5: /rules/0: when is missing"},
		{"an answer that is none", head + "  - {name: a, when: {}, limit: null}\n",
			"rules.yaml:3:5: /rules/0: has no answer"},
		{"too large", ok + strings.Repeat("# 10 MB\n", 10<<17), "rules.yaml: larger than 4194304 bytes"},
	} {
		_, err := rules.Parse("rules.yaml", []byte(c.src))
		if !errors.Is(err, rules.ErrRules) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.why, err, c.want)
		}
	}
	for why, src := range map[string]string{"CRLF": strings.ReplaceAll(ok, "\n", "\r\n"),
		"a byte order mark":    "\ufeff" + ok,
		"a tab behind a value": strings.Replace(ok, "rules/v1\n", "rules/v1\t\n", 1)} {
		f, err := rules.Parse("rules.yaml", []byte(src))
		if err != nil || len(f.Rules) != 1 || f.Rules[0].Block != "no" || f.Rules[0].Name != "a" {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// Files at their limits are built, and those beyond are refused, without ado.
func TestHugeFiles(t *testing.T) {
	fill := func(rule string, n int) []byte {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			fmt.Fprintf(&b, rule, i)
		}
		return []byte(b.String())
	}
	pointers := make([]string, 40)
	for i := range pointers {
		pointers[i] = fmt.Sprintf("/args/%%[1]d/%d", i)
	}
	engine := engine(t)
	for _, c := range []struct{ why, rule, want string }{
		{"commands", "  - {name: r%[1]d, when: {command: 'tool%[1]d run --flag%[1]d'}, block: no}\n", ""},
		{"paths", "  - {name: r%[1]d, when: {path: '**/secret-%[1]d/**'}, block: no}\n", ""},
		{"texts", "  - {name: r%[1]d, when: {text: {match: 'needle-%[1]d[a-z]'}}, block: no}\n", ""},
		{"the same match", "  - {name: r%[1]d, when: {tool: exec}, fix: {/args/x%[1]d: 1}}\n", ""},
		{"values of config", "  - {name: r%[1]d, when: {config: {x: a%[1]d}}, block: no}\n",
			"/rules: ask about more than 64 values of the member x"},
		{"members of config", "  - {name: r%[1]d, when: {config: {x%[1]d: a}}, block: no}\n",
			"/rules: ask about more than 64 members of config"},
		{"places", "  - {name: r%[1]d, when: {text: {match: abc, at: [" + strings.Join(pointers[:10], ", ") +
			"]}}, block: no}\n",
			"rules.yaml:28:5: /rules/25: at most 256 different places of texts in a file"},
		{"limits", "  - {name: r%[1]d, when: {agent: a%[1]d}, limit: {count: 1, per: 1h}}\n",
			"rules.yaml:63:37: /rules/60/limit: at most 60 rules of a file have a limit"},
		{"reasons", "  - {name: r%[1]d, when: {tool: read}, block: '%[1]d" + strings.Repeat("x", 300) + "'}\n", ""},
	} {
		f, err := rules.Parse("rules.yaml", fill(c.rule, rules.MaxRules))
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.why, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if _, err := f.Build(engine, f.Parts()[0]); err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}
