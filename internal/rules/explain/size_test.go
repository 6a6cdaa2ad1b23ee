package explain_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/phases"
)

// A value has one size, however it is spelled.
func TestSizesDoNotDependOnSpelling(t *testing.T) {
	w := open(t)
	const rule = "version: rules/v1\nrules: [{name: a, when: {size: {at: /args/content, over: 20}}, block: no}]"
	module, err := rules.Compile("x", []byte(rule), w.engine, rules.Judges)
	if err != nil {
		t.Fatal(err)
	}
	blanks, escapes := strings.Repeat(" ", 40), `\u0061\u0062\u0063`
	for args, want := range map[string]phases.Decision{
		`{"content":["abc"]}`:                              phases.Allow,
		`{"content":[` + blanks + `"abc"` + blanks + `]}`:  phases.Allow,
		`{"content":["` + escapes + `"]}`:                  phases.Allow,
		`{"content":{"a":"` + escapes + `","b":[1,2]}}`:    phases.Block, // {"a":"abc","b":[1,2]}: 21
		`{"content":{"a":"` + escapes + `", "b":[1, 2 ]}}`: phases.Block,
		`{"content":{"a":"abc","b":[1]}}`:                  phases.Allow,
		`{"content":"` + strings.Repeat("a", 21) + `"}`:    phases.Block,
		`{"content":"` + strings.Repeat(`\n`, 20) + `"}`:   phases.Allow,
		`{"content":123456789012345678901}`:                phases.Block,
		`{"other":"` + strings.Repeat("a", 21) + `"}`:      phases.Allow,
	} {
		if v := w.ask(t, module, tool("write", args)); v.Decision != want {
			t.Errorf("%s: %s %s", args, v.Decision, v.Reason)
		}
	}
}
