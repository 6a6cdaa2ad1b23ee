package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// No command has a flag of its own by the name of one that all commands have: it would hide that one, and what other
// commands print (`belay lease list --all --state DIR`) would mean something else there.
func TestNoFlagHidesOneOfAllCommands(t *testing.T) {
	root := (&App{}).root()
	looked := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		looked++
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if got := c.Flag(f.Name); got != f {
				t.Errorf("%s: --%s is not that of all commands, but: %s", c.CommandPath(), f.Name, got.Usage)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if looked < 90 || !root.PersistentFlags().HasFlags() {
		t.Errorf("only %d commands, or no flag of all", looked)
	}
}
