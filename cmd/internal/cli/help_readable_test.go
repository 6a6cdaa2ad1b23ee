package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/prose"
)

// Help texts can be read: no sentence is longer than a reader can hold, no line wider than a terminal, and no word
// hides what it means. Lines that are indented are commands, tables and examples, and no prose.
func TestHelpCanBeRead(t *testing.T) {
	sentences := 0
	check := func(at, text string) {
		for _, s := range prose.Sentences(text) {
			if sentences++; s.Words > prose.MaxWords {
				t.Errorf("%s: a sentence of %d words: %s", at, s.Words, s.Text)
			}
		}
		for _, word := range prose.Vague(text) {
			t.Errorf("%s: the help says %q: CONTRIBUTING.md has the word to say", at, word)
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		check(c.CommandPath(), c.Short)
		check(c.CommandPath(), unindented(c.Long))
		for line := range strings.Lines(c.Example) {
			_, command, found := strings.Cut(line, "belay ") // what has none is another program's, or goes on
			if words := leading(strings.Fields(command)); found && !isCommand(c.Root(), words) {
				t.Errorf("%s: its example names no command of belay: %s", c.CommandPath(), line)
			}
		}
		for line := range strings.Lines(c.Long) {
			if len([]rune(strings.TrimRight(line, "\n"))) > prose.MaxColumns {
				t.Errorf("%s: a line is wider than %d columns: %s", c.CommandPath(), prose.MaxColumns, line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(f)
			check(c.CommandPath()+" --"+f.Name, usage)
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&App{}).root())
	if sentences < 400 {
		t.Errorf("only %d sentences", sentences)
	}
}

// leading returns the words of a command before its first flag, file or redirection: those that may name commands.
func leading(words []string) []string {
	for i, w := range words {
		if strings.HasPrefix(w, "-") || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz-") != "" {
			return words[:i]
		}
	}
	return words
}

// unindented leaves an empty line in the place of each line that is indented.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}
