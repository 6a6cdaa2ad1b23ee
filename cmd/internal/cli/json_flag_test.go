package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// Every command that does something has --json, so that a script never has to read a table.
func TestEveryCommandPrintsJSON(t *testing.T) {
	// These print the commands below them and nothing else.
	groups := []string{"belay", "belay config", "belay conform", "belay events", "belay fleet", "belay hook",
		"belay system", "belay latch",
		"belay lease", "belay reviewer", "belay reviewer sign", "belay reviewer sign config",
		"belay reviewer sign events", "belay reviewer sign latch", "belay rules", "belay trust"}
	commands := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if slices.Contains(groups, c.CommandPath()) {
			if !c.HasSubCommands() || c.LocalNonPersistentFlags().HasFlags() {
				t.Errorf("%s is no mere group", c.CommandPath())
			}
			return
		}
		if c.Hidden || !c.Runnable() { // belay starts hidden ones itself
			return
		}
		commands++
		if f := c.Flags().Lookup("json"); f == nil || f.Value.Type() != "bool" || f.DefValue != "false" {
			t.Errorf("%s has no --json", c.CommandPath())
		}
	}
	walk((&App{}).root())
	if commands < 70 {
		t.Errorf("only %d commands", commands)
	}
}
