package suite_test

import (
	"strings"
	"testing"
)

// Programs of other languages that a command gives to an interpreter: what they do themselves, and what they only say.
func TestCommandGuardReadsPrograms(t *testing.T) {
	s := scoreOf(t, "testdata/command-guard/programs_tuned.jsonl", openGuard(t, "command-guard"))
	if s.recall() < 0.99 || s.precision() < 0.99 {
		t.Errorf("recall %.3f, precision %.3f; at least 0.99 and 0.99", s.recall(), s.precision())
	}
}

// A program that is nested without end is judged within the limits of a hook; what it hides at the end of the
// nesting is not waved through.
func TestCommandGuardReadsNestedPrograms(t *testing.T) {
	blocks := openGuard(t, "command-guard")
	for _, c := range []struct{ command, nested string }{
		{"python3 -c '@'", "f("},
		{"python3 -c '@'", "["},
		{"python3 -c '@'", "-"},
		{"python3 -c '@'", "a.b(c)[d]."},
		{"python3 -c '@'", "x = x + x; "},
		{"node -e '@'", "(x=>"},
		{"node -e '@'", "{a:"},
		{"node -e '@'", "a ? b : "},
		{"perl -e '@'", "map { "},
		{"ruby -e '@'", "-> { "},
		{"php -r '@'", `"{$a[`},
		{"awk '@'", "a b "},
		{"emacs --batch --eval '@'", "(a "},
		{"expect -c '@'", "if {1} {"},
		{"pwsh -c '@'", "$a = ("},
	} {
		program := strings.Repeat(c.nested, 8000/len(c.nested))
		blocks(labelled{Command: strings.Replace(c.command, "@", program, 1)}) // a guard that fails ends the test
	}
	hidden := "python3 -c '" + strings.Repeat("f(", 200) + `__import__("os").system("rm -rf /")` +
		strings.Repeat(")", 200) + "'"
	if !blocks(labelled{Command: hidden}) {
		t.Error("a command below 200 calls passes")
	}
}
