package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help is the first thing that people read: every command has a one-line
// summary, and no flag shows a sentence where the name of its value belongs (as
// pflag does with text in backquotes).
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	commands := 0
	walk = func(c *cobra.Command) {
		commands++
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 100 {
			t.Errorf("%s: short text %q", c.CommandPath(), c.Short)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if value, usage := pflag.UnquoteUsage(f); strings.ContainsAny(value, " `") || usage == "" {
				t.Errorf("%s --%s: the value is called %q, the flag %q", c.CommandPath(), f.Name, value, usage)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&App{}).root())
	if commands < 30 {
		t.Errorf("only %d commands", commands)
	}
}
