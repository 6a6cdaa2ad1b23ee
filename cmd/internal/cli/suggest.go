package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/near"
)

// noArgs refuses arguments. To a command that has commands below it, a word is a command that there is not.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasAvailableSubCommands():
		return usageError(fmt.Sprintf("%s takes no argument, and %q was given", cmd.CommandPath(), safe(args[0])),
			"`"+cmd.CommandPath()+" --help` shows how it is used.")
	}
	hint := "`" + cmd.CommandPath() + " --help` lists the commands."
	if near := suggestions(cmd, args); len(near) > 0 {
		hint = "Did you mean `" + strings.Join(near, "` or `") + "`? " + hint
	}
	return usageError(fmt.Sprintf("%s has no command %q", cmd.CommandPath(), safe(args[0])), hint)
}

// maxSuggestions is how many commands a hint names.
const maxSuggestions = 3

// suggestions are commands that the words may have meant: below cmd one with nearly that name, then any with exactly
// that name elsewhere, such as `belay hook install` for `belay install`, and if there is none, one with nearly that name
// elsewhere.
func suggestions(cmd *cobra.Command, args []string) []string {
	var out []string
	add := func(path string) {
		if len(out) < maxSuggestions && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	cmd.SuggestionsMinimumDistance = 2
	for _, name := range cmd.SuggestionsFor(args[0]) {
		add(cmd.CommandPath() + " " + name)
	}
	paths := map[string]string{} // by name, for words that are nearly one
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		if c.HasParent() && (c.Name() == args[0] || c.HasAlias(args[0])) {
			add(c.CommandPath())
		}
		if _, taken := paths[c.Name()]; c.HasParent() && !taken {
			paths[c.Name()] = c.CommandPath()
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cmd.Root())
	if len(out) == 0 {
		if name := near.Of(args[0], slices.Sorted(maps.Keys(paths))); name != "" {
			out = append(out, paths[name])
		}
	}
	return out
}
