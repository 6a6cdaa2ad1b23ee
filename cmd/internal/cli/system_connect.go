package cli

import (
	"github.com/spf13/cobra"
)

// systemConnectFlags are those of `belay system connect` and `belay system disconnect`.
type systemConnectFlags struct {
	root       string
	all        bool
	dryRun     bool
	json       bool
	skillShell bool
	connected  bool // false: disconnect
}

func (a *App) systemConnectCmd() *cobra.Command {
	f := systemConnectFlags{connected: true}
	cmd := &cobra.Command{
		Use:   "connect [RUNTIME…]",
		Short: "Have the agent runtimes of every user of this machine ask its daemon",
		Long: `connect writes belay's entries into the managed settings of each runtime that is installed on
this machine. The entries start root's belay-hook without a state directory: it finds the daemon of
the machine by itself. It does what ` + "`belay connect RUNTIME --managed`" + ` does for one runtime.

It looks for runtimes on the PATH, and for what they left in the home directories of users. Name a
runtime, or give --all, to connect it before it is installed.

If one of the files cannot be written safely, nothing is written. Every other byte of a file stays,
and a copy of the former file stays beside it. Run again it changes nothing, or puts back what was
changed in belay's entries.`,
		Example: `  belay system connect --dry-run
  sudo belay system connect
  sudo belay system connect codex`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.systemConnect(args, f) },
	}
	a.systemConnectFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.all, "all", false, "runtimes that are not installed, too")
	cmd.Flags().BoolVar(&f.skillShell, "allow-skill-shell", false,
		"let Claude Code run commands that stand in files of slash commands and skills")
	return cmd
}

func (a *App) systemDisconnectCmd() *cobra.Command {
	var f systemConnectFlags
	cmd := &cobra.Command{
		Use:   "disconnect [RUNTIME…]",
		Short: "Take belay's entries out of the managed settings of this machine",
		Long: `disconnect takes out exactly what connect has written into managed settings, and leaves every
other byte as it is. Without belay's entries a runtime asks belay nothing: every action goes on.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.systemConnect(args, f) },
	}
	a.systemConnectFlags(cmd, &f)
	return cmd
}

func (a *App) systemConnectFlags(cmd *cobra.Command, f *systemConnectFlags) {
	cmd.Flags().StringVar(&f.root, "root", "", "work on the image in `DIR`, which must be root's")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be written, and write nothing")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}
