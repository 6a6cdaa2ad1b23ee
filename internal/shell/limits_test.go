package shell

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// TestAtTheLimits: a text at a limit is reported in full, and a text one past
// it as cut, not known or refused.
func TestAtTheLimits(t *testing.T) {
	lines := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	nested := func(n int) string { return strings.Repeat("( ", n) + "a" + strings.Repeat(" )", n) }
	evals := func(n int) string { return strings.Repeat("eval ", n) + "a" }
	var vars []string
	for n := range maxVars {
		vars = append(vars, "v"+itoa(n)+"=1")
	}
	for name, c := range map[string]struct{ at, past string }{
		"bytes of text": {"#" + strings.Repeat("x", MaxText-1), "#" + strings.Repeat("x", MaxText)},
		"parentheses":   {nested(MaxNesting), nested(MaxNesting + 1)},
		"braces": {"echo '" + strings.Repeat("{", maxBraceDepth) + "'",
			"echo '" + strings.Repeat("{", maxBraceDepth+1) + "'"},
		"brackets": {"echo '" + strings.Repeat("[", maxIndexDepth) + "'",
			"echo '" + strings.Repeat("[", maxIndexDepth+1) + "'"},
		"closed before": {"echo '" + strings.Repeat(")}]", 9) + strings.Repeat("[", maxIndexDepth) + "'",
			"echo '" + strings.Repeat(")}]", 9) + strings.Repeat("[", maxIndexDepth+1) + "'"},
		"backquotes": {"echo '" + strings.Repeat("`", 1024) + "'", "echo '" + strings.Repeat("`", 1025) + "'"},
		"bars": {"echo '" + strings.Repeat("|", maxBars) + "'", "echo '" + strings.Repeat("|", maxBars+1) +
			"'"},
		"open constructs":   {"# " + strings.Repeat("if ", 256), "# " + strings.Repeat("if ", 257)},
		"closed constructs": {"# " + strings.Repeat("if fi ", 2048), "# " + strings.Repeat("if fi ", 2049)},
		"exclamation marks": {"# " + strings.Repeat("! fi ", 2048), "# " + strings.Repeat("! fi ", 2049)},
		"the last word":     {"# " + strings.Repeat("if ", 255) + "if", "# " + strings.Repeat("if ", 256) + "if"},
		"done and esac": {"# " + strings.Repeat("while done case esac ", 512),
			"# " + strings.Repeat("while done case esac ", 1025)},
		"texts within texts": {evals(MaxDepth), evals(MaxDepth + 1)},
		"commands":           {lines(MaxCommands, "a"), lines(MaxCommands+1, "a")},
		"unknowns":           {lines(MaxUnknown, `$X`), lines(MaxUnknown+1, `$X`)},
		"words": {lines(maxWords/16, "a b c d e f g h i j k l m n o p"),
			lines(maxWords/16, "a b c d e f g h i j k l m n o p") + "a"},
		"statements": {strings.Repeat("{ ", 199) + "a" + strings.Repeat("; }", 199),
			strings.Repeat("{ ", 200) + "a" + strings.Repeat("; }", 200)},
		"functions":           {functions(64), functions(65)},
		"variables":           {strings.Join(vars[:maxVars-3], "\n"), strings.Join(vars[:maxVars-2], "\n")},
		"wrappers":            {strings.Repeat("nice ", 32) + "a", strings.Repeat("nice ", 33) + "a"},
		"functions in others": {calls(8), calls(9)},
	} {
		if r, _ := Parse(c.at); !r.OK || r.Truncated {
			t.Errorf("%s, at the limit: ok %v, truncated %v, %s", name, r.OK, r.Truncated, r.Error)
		}
		r, _ := Parse(c.past)
		if !r.Truncated {
			t.Errorf("%s, past the limit: nothing is cut", name)
		}
	}
}

func functions(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("f" + itoa(i) + "() { a; }\n")
	}
	return b.String()
}

// calls is a chain of functions that call each other.
func calls(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("f" + itoa(i) + "() { f" + itoa(i+1) + "; }\n")
	}
	return b.String() + "f0"
}

// TestValuesAtTheLimit: a value is known as long as it fits a word.
func TestValuesAtTheLimit(t *testing.T) {
	half := strings.Repeat("x", MaxWordText/2)
	for name, c := range map[string]struct{ at, past string }{
		"an assignment": {"a=" + half + half + `; echo "$a"`, "a=" + half + half + `y; echo "$a"`},
		"an addition":   {"a=" + half + "; a+=" + half + `; echo "$a"`, "a=" + half + "; a+=" + half + `y; echo "$a"`},
		"two variables": {"a=" + half + `; echo "$a$a"`, "a=" + half + `; echo "$a$a"y`},
		"an output":     {`echo "$(printf ` + half + half + `)"`, `echo "$(printf ` + half + half + `; echo y)"`},
		"outputs": {`echo "$(printf ` + half + "; printf " + half + `)"`, `echo "$(printf ` + half + "; printf " +
			half + `y)"`},
		"many arguments": {`echo "$(printf %s ` + half + " " + half + `)"`, `echo "$(printf %s ` + half + " " + half +
			`y)"`},
		"a list": {"a=(" + half[1:] + " " + half[1:] + `); echo "${a[*]}"`,
			"a=(" + half[1:] + " " + half + `); echo "${a[*]}"`},
		"quoted as it is": {"echo '" + half + half + "'", "echo '" + half + half + "y'"},
	} {
		for text, want := range map[string]bool{c.at: true, c.past: false} {
			r, _ := Parse(text)
			last := r.Commands[len(r.Commands)-1]
			if got := last.Words[1].Known; got != want {
				t.Errorf("%s: known %v, want %v (%d bytes)", name, got, want, len(last.Words[1].Text))
			}
		}
	}
}

// TestRawIsCut: the source text that is quoted is cut after MaxRaw bytes, between characters.
func TestRawIsCut(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{{strings.Repeat("x", MaxRaw), MaxRaw}, {strings.Repeat("x", MaxRaw+1), MaxRaw},
		{strings.Repeat("x", MaxRaw-1) + "é", MaxRaw - 1}} {
		r, _ := Parse(c.text)
		if got := len(r.Commands[0].Raw); got != c.want {
			t.Errorf("%d bytes: raw %d, want %d", len(c.text), got, c.want)
		}
	}
}

// TestAWalkThatIsOver: with its last step a walk ends. It tells, knows and prints nothing more, and says that
// there is more.
func TestAWalkThatIsOver(t *testing.T) {
	file, err := syntax.NewParser().Parse(strings.NewReader(`echo "$a"`), "")
	if err != nil {
		t.Fatal(err)
	}
	stmt := file.Stmts[0]
	words := []Word{{Text: "nice", Known: true}, {Text: "rm", Known: true}}
	for name, use := range map[string]func(w *walker, e *env) (goesOn bool){
		"a statement is told": func(w *walker, e *env) bool { w.stmt(e, stmt, ctx{}); return len(w.reply.Commands) > 0 },
		"a command is told": func(w *walker, e *env) bool {
			w.run(e, words, nil, nil, ctx{}, "")
			return len(w.reply.Commands) > 0
		},
		"a word is known":    func(w *walker, e *env) bool { return w.uses(e, stmt.Cmd.(*syntax.CallExpr).Args[1]).known },
		"an output is known": func(w *walker, e *env) bool { _, ok := w.output(e, file.Stmts, nil, 0); return ok },
		"a text is read": func(w *walker, _ *env) bool {
			_, _, err := w.read(strings.Repeat("x", 16))
			return err == nil
		},
	} {
		for steps, want := range map[int]bool{0: true, maxSteps: false} {
			w, e := &walker{steps: steps, funcs: map[string]*function{}}, newEnv()
			e.set("a", text("x"))
			if got := use(w, e); got != want {
				t.Errorf("after %d steps: %s: %v", steps, name, got)
			}
			if name != "a text is read" && w.reply.Truncated == want { // Parse says it of a text
				t.Errorf("after %d steps: %s: truncated %v", steps, name, w.reply.Truncated)
			}
		}
	}
}

// TestTheEndOfAPipelineIsNotComputed: the output of its last command goes nowhere, so it costs no steps to find out.
func TestTheEndOfAPipelineIsNotComputed(t *testing.T) {
	long := "{ " + strings.Repeat("echo x; ", 100) + "}"
	_, alone := Parse(long)
	if _, piped := Parse("x | " + long); piped > alone+20 {
		t.Errorf("%d steps at the end of a pipeline, %d alone", piped, alone)
	}
	if _, piped := Parse(long + " | x"); piped < alone+100 {
		t.Errorf("%d steps in front of x, %d alone: nothing was computed", piped, alone)
	}
}
