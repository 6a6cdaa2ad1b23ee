package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommandsAreToldAsBefore: everything that is told of each command in testdata/commands.txt stands in
// commands.golden. A change there is a change of what guards see: read it before taking it over
// (BELAY_UPDATE=1 go test -run TestCommandsAreToldAsBefore).
func TestCommandsAreToldAsBefore(t *testing.T) {
	src, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	lines := 0
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "# only") {
			continue
		}
		lines++
		reply, _ := Parse(strings.ReplaceAll(line, `\n`, "\n"))
		got.WriteString("$ " + line + "\n" + inFull(&reply) + "\n")
	}
	if lines < 400 {
		t.Errorf("only %d commands", lines)
	}
	if os.Getenv("BELAY_UPDATE") != "" {
		if err := os.WriteFile("testdata/commands.golden", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/commands.golden")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
		t.Errorf("(- golden, + now)\n%s", d)
	}
}

// inFull renders everything that a reply tells, one command a line.
func inFull(r *Reply) string {
	var b strings.Builder
	if !r.OK || r.Truncated || r.Dialect != "bash" || len(r.Functions) > 0 {
		fmt.Fprintf(&b, "  ok %v, truncated %v, %s, functions %v: %s\n", r.OK, r.Truncated, r.Dialect, r.Functions, r.Error)
	}
	for i, c := range r.Commands {
		fmt.Fprintf(&b, "  %d %q %s", i, c.Name, told(c))
		var from []int
		for _, word := range c.Words {
			from = union(from, word.From)
		}
		if len(from) > 0 {
			fmt.Fprintf(&b, " | from %v", from)
		}
		for _, a := range c.Assigns {
			fmt.Fprintf(&b, " | %s=%s", a.Name, wordInFull(&a.Value))
		}
		for _, x := range c.Redirects {
			fmt.Fprintf(&b, " | %d%s %s", x.FD, x.Op, wordInFull(&x.Target))
		}
		if c.Pipe != 0 {
			fmt.Fprintf(&b, " | pipe %d", c.Pipe)
		}
		if c.StdinFrom >= 0 {
			fmt.Fprintf(&b, " | reads %d", c.StdinFrom)
		}
		if c.Stdin != nil {
			fmt.Fprintf(&b, " | stdin %s", wordInFull(c.Stdin))
		}
		if c.Parent >= 0 {
			fmt.Fprintf(&b, " | of %d", c.Parent)
		}
		if len(c.Context) > 0 {
			fmt.Fprintf(&b, " | in %s", strings.Join(c.Context, ", "))
		}
		if c.CWD != nil {
			fmt.Fprintf(&b, " | at %s", wordInFull(c.CWD))
		}
		for name, is := range map[string]bool{"function": c.Function && !c.Recursive, "recursive": c.Recursive} {
			if is {
				b.WriteString(" | " + name)
			}
		}
		if c.Remote {
			b.WriteString(" | remote")
		}
		fmt.Fprintf(&b, " | %q\n", c.Raw)
	}
	for _, u := range r.Unknown {
		what := u.What
		if u.Partial {
			what += " (in part)"
		}
		fmt.Fprintf(&b, "  unknown %s of %d: %q\n", what, u.Command, u.Raw)
	}
	return b.String()
}

func wordInFull(w *Word) string {
	s := fmt.Sprintf("%q", w.Text)
	for _, m := range []struct {
		is   bool
		mark string
	}{{!w.Known, "?"}, {w.Glob, "(glob)"}, {w.Tilde, "(home)"}} {
		if m.is {
			s += m.mark
		}
	}
	if len(w.From) > 0 {
		s += fmt.Sprintf("(from %v)", w.From)
	}
	return s
}
