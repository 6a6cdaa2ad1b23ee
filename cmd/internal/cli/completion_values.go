package cli

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/schema"
	"github.com/belay-hooks/belay/phases"
)

// filesHere returns the files of the current directory whose names have the extension, at most maxOffered.
func filesHere(extension string) []string {
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if name := e.Name(); filepath.Ext(name) == "."+extension && !e.IsDir() && len(out) < maxOffered {
			out = append(out, offered(name, ""))
		}
	}
	return out
}

// both completes the words of two lists.
func both(one, other cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		first, directive := one(cmd, args, word)
		second, _ := other(cmd, args, word)
		return append(first, second...), directive
	}
}

// commandNames completes what help is about.
func commandNames(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, sub := range found.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, offered(sub.Name(), sub.Short))
		}
	}
	return distinct(out), cobra.ShellCompDirectiveNoFileComp
}

func schemaNames() cobra.CompletionFunc {
	var out []string
	for _, f := range schema.Files() {
		out = append(out, offered(f.Name, f.Of))
	}
	return values(out...)
}

// hostcallNames completes capabilities that a hook can hold.
func hostcallNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, c := range hostcalls.Table() {
		out = append(out, offered(c.Capability, c.Doc))
	}
	return distinct(out), cobra.ShellCompDirectiveNoFileComp
}

// leasePowers completes what a lease lends; names of one's own are as good.
func leasePowers() cobra.CompletionFunc {
	out := []string{"fs:write", "model:", "spawn", "tool:*"}
	for _, tool := range phases.KnownTools() {
		out = append(out, "tool:"+tool)
	}
	return values(out...)
}

// builtinHooks completes the hooks that come with belay.
func (a *App) builtinHooks(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	set, err := builtin.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, name := range set.Names() {
		out = append(out, offered(builtinScheme+name, ""))
	}
	return distinct(out), cobra.ShellCompDirectiveNoFileComp
}

// configuration is belay.yaml, or one that says nothing.
func (a *App) configuration() *config.File {
	dir, err := a.stateDir()
	if err != nil {
		return &config.File{}
	}
	f, _, _ := config.Load(dir) // beside an error stands one that says nothing
	return f
}

// boundHooks completes the bindings of belay.yaml.
func (a *App) boundHooks(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, b := range a.configuration().Hooks {
		note := b.Module
		switch {
		case b.Disabled:
			note += ", disabled"
		case b.Mode == phases.Observe:
			note += ", observes"
		}
		out = append(out, offered(b.Name, note))
	}
	return distinct(out), cobra.ShellCompDirectiveNoFileComp
}

func (a *App) reviewerNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	for _, r := range a.configuration().Reviewers {
		out = append(out, offered(r.Name, "reviewer"))
	}
	return distinct(out), cobra.ShellCompDirectiveNoFileComp
}

// runtimeEvents completes the events of the runtime that --runtime names.
func (a *App) runtimeEvents(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ad := hookcmd.Named(flagText(cmd, "runtime"))
	if ad == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for event := range ad.Table().Events {
		out = append(out, offered(event, ""))
	}
	slices.Sort(out)
	return distinct(out), cobra.ShellCompDirectiveNoFileComp
}

// flagText is the text of a flag that was given before, "" for none.
func flagText(cmd *cobra.Command, name string) string {
	if f := cmd.Flag(name); f != nil && f.Value.Type() == "string" {
		return f.Value.String()
	}
	return ""
}
