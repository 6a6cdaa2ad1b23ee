package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every argument and every flag whose value is a text says what completes it, and the table names no word that the
// commands do not have. A new flag needs an entry in completion_table.go: cobra.NoFileCompletions where only the
// caller knows the value.
func TestEveryValueSaysWhatCompletesIt(t *testing.T) {
	app := &App{}
	root := app.root()
	flags, arguments := app.flagValues(), app.argumentValues()
	unusedFlags, unusedArguments := maps.Clone(flags), maps.Clone(arguments)
	texts := []string{"string", "stringArray", "stringSlice"}
	checked := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := pathOf(c)
		if takesArguments(c) {
			checked++
			if arguments[path] == nil {
				t.Errorf("belay %s: nothing says what completes its arguments", path)
			}
			delete(unusedArguments, path)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !takesValue(f) {
				return
			}
			checked++
			here, everywhere := path+" --"+f.Name, "--"+f.Name
			if flags[here] == nil && flags[everywhere] == nil && slices.Contains(texts, f.Value.Type()) {
				t.Errorf("belay %s: nothing says what completes its value", here)
			}
			if flags[here] != nil {
				delete(unusedFlags, here)
			} else {
				delete(unusedFlags, everywhere)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root.InitDefaultHelpCmd()
	walk(root)
	for _, left := range append(slices.Sorted(maps.Keys(unusedFlags)), slices.Sorted(maps.Keys(unusedArguments))...) {
		t.Errorf("the table of completions names %q, and no command has it", left)
	}
	if checked < 250 {
		t.Errorf("only %d arguments and flags", checked)
	}
}

// takesArguments reports whether the line of use names a word that is no flag of the command.
func takesArguments(c *cobra.Command) bool {
	name, rest, _ := strings.Cut(c.Use, " ")
	rest, _, _ = strings.Cut(rest, "<")
	if name == "completion" {
		return true
	}
	accepts := c.Args == nil || c.Args(c, []string{"x"}) == nil || c.Args(c, []string{"x", "y"}) == nil
	names := strings.TrimSpace(strings.TrimPrefix(rest, "[flags]")) != ""
	return accepts && (names || !c.HasAvailableSubCommands())
}

// What completion registers is what the shell asks for, also of a flag that another command understands otherwise.
func TestCompletionOfTheTree(t *testing.T) {
	app := &App{}
	root := app.root()
	if err := app.complete(root); err != nil {
		t.Fatal(err)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.ValidArgsFunction == nil {
			t.Errorf("%s: a shell would offer files", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, ok := c.GetFlagCompletionFunc(f.Name); takesValue(f) && !ok && f.Name != "state" {
				t.Errorf("%s --%s: a shell would offer files", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	words := func(path, flag string) string {
		c, _, err := root.Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		f, _ := c.GetFlagCompletionFunc(flag)
		list, _ := f(c, nil, "")
		return strings.Join(list, " ")
	}
	for _, w := range []struct{ path, flag, want string }{
		{"approvals list", "only", "pending approved denied expired superseded consumed"},
		{"lease list", "only", "active exhausted expired revoked"},
		{"events query", "phase", "pre_plan pre_send"},
		{"replay", "compare", "exact decision budget"},
		{"hook new", "lang", "go rust c"},
		{"hook new", "from", "rules"},
	} {
		if got := words(w.path, w.flag); !strings.Contains(got, w.want) {
			t.Errorf("%s --%s: %s, want %s", w.path, w.flag, got, w.want)
		}
	}
}

// An element of a list is completed behind those that stand already, and none is offered twice.
func TestCommaSeparated(t *testing.T) {
	got, _ := commaSeparated(values("one\tfirst", "two", "three"))(nil, nil, "two,t")
	if !slices.Equal(got, []string{"two,one\tfirst", "two,three"}) {
		t.Errorf("%q", got)
	}
}

// A word that a terminal would obey, or that holds a secret, is not offered: sessions and runs have names that their
// callers chose.
func TestNotOffered(t *testing.T) {
	for _, word := range []string{"", "a\x1b[2J", "a\tb", "a\nb", "AKIAIOSFODNN7QQQQQQQ", "\u202e"} {
		if got := offered(word, "note"); got != "" {
			t.Errorf("%q is offered: %q", word, got)
		}
	}
	if got := offered("s-1", "token AKIAIOSFODNN7QQQQQQQ"); strings.Contains(got, "AKIA") {
		t.Errorf("%q", got)
	}
}

// A daemon or a database that does not answer keeps no shell waiting, and an error is no value.
func TestCompletionIsBounded(t *testing.T) {
	hang := func(context.Context) ([]cobra.Completion, error) { select {} }
	if got := within(t.Context(), 10*time.Millisecond, hang); got != nil {
		t.Errorf("%q", got)
	}
	fails := func(context.Context) ([]cobra.Completion, error) { return []string{"half"}, errors.New("broken") }
	if got := within(t.Context(), time.Minute, fails); got != nil {
		t.Errorf("%q", got)
	}
	finds := func(context.Context) ([]cobra.Completion, error) { return []string{"one"}, nil }
	if got := within(t.Context(), time.Minute, finds); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
