package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shells returns the shells that belay writes a completion script for.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func (a *App) completionCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the completion script of a shell",
		Long: `completion prints a script with which a shell completes belay's commands, flags and values.
Values are hooks, phases, runtimes, sessions, and the ids of events, approvals and leases. Values
come from belay.yaml, and from the daemon or the event log. A shell that waits longer than a
second is shown none. Completing writes nothing and shows no content of an event.

Try it in this shell:

  bash        source <(belay completion bash)     # needs the package bash-completion
  zsh         source <(belay completion zsh)      # after: autoload -U compinit; compinit
  fish        belay completion fish | source
  powershell  belay completion powershell | Out-String | Invoke-Expression

Every later shell finds it in a file:

  bash        belay completion bash > ~/.local/share/bash-completion/completions/belay
  zsh         belay completion zsh > "${fpath[1]}/_belay"
  fish        belay completion fish > ~/.config/fish/completions/belay.fish
  powershell  belay completion powershell >> $PROFILE`,
		Example: `  belay completion bash > ~/.local/share/bash-completion/completions/belay`,
		Args:    oneArg("the name of a shell: " + strings.Join(shells(), ", ")),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.completionScript(cmd.Root(), args[0], *asJSON) },
	}
	asJSON = cmd.Flags().Bool("json", false, "print the script as JSON, with the name of the shell")
	return cmd
}

func (a *App) completionScript(root *cobra.Command, shell string, asJSON bool) error {
	var script bytes.Buffer
	var err error
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&script, true)
	case "zsh":
		err = root.GenZshCompletion(&script)
	case "fish":
		err = root.GenFishCompletion(&script, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&script)
	default:
		return usageError(fmt.Sprintf("there is no completion for %q", safe(shell)),
			"The shells are "+strings.Join(shells(), ", ")+".")
	}
	switch {
	case err != nil:
		return failureBy(err, "")
	case asJSON:
		return a.printJSON(map[string]string{"shell": shell, "script": script.String()})
	}
	_, err = a.Out.Write(script.Bytes())
	return err
}

// completes reports whether a shell asks what a word may become.
func completes(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// complete gives every argument and every flag of the tree its values. A word that has
// none gets none: by default a shell would offer files, where no file is due.
func (a *App) complete(root *cobra.Command) error {
	flags, arguments := a.flagValues(), a.argumentValues()
	root.InitDefaultHelpCmd()
	var walk func(c *cobra.Command) error
	walk = func(c *cobra.Command) error {
		c.ValidArgsFunction = cobra.NoFileCompletions
		if f := arguments[pathOf(c)]; f != nil {
			c.ValidArgsFunction = f
		}
		var bad error
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if takesValue(f) && bad == nil {
				bad = c.RegisterFlagCompletionFunc(f.Name, firstOf(flags[pathOf(c)+" --"+f.Name], flags["--"+f.Name]))
			}
		})
		for _, sub := range c.Commands() {
			if bad == nil {
				bad = walk(sub)
			}
		}
		return bad
	}
	if err := root.RegisterFlagCompletionFunc("state", directories); err != nil {
		return err
	}
	return walk(root)
}

// firstOf returns the first that is not nil, or what offers nothing.
func firstOf(fs ...cobra.CompletionFunc) cobra.CompletionFunc {
	for _, f := range fs {
		if f != nil {
			return f
		}
	}
	return cobra.NoFileCompletions
}

// takesValue reports whether a flag is followed by a value.
func takesValue(f *pflag.Flag) bool { return f.NoOptDefVal == "" && f.Value.Type() != "bool" }

// pathOf is the path of a command without the name of the program.
func pathOf(c *cobra.Command) string {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	return path
}

// values completes words of a list that does not change.
func values(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// named is values for words of a type of their own.
func named[T ~string](list []T) cobra.CompletionFunc {
	out := make([]string, len(list))
	for i, word := range list {
		out[i] = string(word)
	}
	return values(out...)
}

// fileNames completes files whose names end in one of the extensions, without their
// dots; any file without one.
func fileNames(extensions ...string) cobra.CompletionFunc {
	if len(extensions) == 0 {
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

func directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// commaSeparated completes the last element of a list: those before it stay, and none is offered twice.
func commaSeparated(one cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		at := strings.LastIndexByte(word, ',') + 1
		head := word[:at]
		found, directive := one(cmd, args, word[at:])
		var out []cobra.Completion
		for _, f := range found {
			value, _, _ := strings.Cut(f, "\t")
			if !slices.Contains(strings.Split(head, ","), value) {
				out = append(out, head+f)
			}
		}
		return out, directive
	}
}

// places completes each argument of a command with a function of its own, and the further ones with the last.
func places(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return each[min(len(args), len(each)-1)](cmd, args, word)
	}
}

// once completes the first argument of a command that takes one.
func once(f cobra.CompletionFunc) cobra.CompletionFunc { return places(f, cobra.NoFileCompletions) }

// orFiles completes names where the word begins one, and else files with the extension. An empty word is shown both.
func orFiles(extension string, names cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		found, _ := names(cmd, args, word)
		found = slices.DeleteFunc(found, func(f string) bool { return !strings.HasPrefix(f, word) })
		if word == "" {
			found = append(filesHere(extension), found...)
		}
		if len(found) > 0 {
			return found, cobra.ShellCompDirectiveNoFileComp
		}
		return fileNames(extension)(cmd, args, word)
	}
}
