package cli

import (
	"github.com/spf13/cobra"
)

// systemFlags are what the commands of system mode share.
type systemFlags struct {
	root     string
	programs string
	noStart  bool
	dryRun   bool
	purge    bool
	yes      bool
	json     bool
}

func (a *App) systemCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "system",
		Short: "Give belay a user of its own on this machine, out of its agents' reach",
		Long: `In system mode belay runs as a user of its own. An agent can ask it, and cannot edit its
database, keys and configuration. Linux only; docs/SYSTEM.md says what holds then.

  belay system install --dry-run   see what would be made
  sudo belay system install        make it, and start it
  sudo belay system connect        have the agent runtimes of every user ask it
  belay system status              see what is there, and what deviates`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.systemInstallCmd(), a.systemStatusCmd(), a.systemUpgradeCmd(), a.systemUninstallCmd(),
		a.systemImportCmd(), a.systemReceiveCmd(), a.systemConnectCmd(), a.systemDisconnectCmd())
	return cmd
}

func (a *App) systemInstallCmd() *cobra.Command {
	var f systemFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Make belay's users, directories, units and programs, and start it",
		Long: `install makes the users belay and belay-tools, /etc/belay, /var/lib/belay, units for systemd,
and copies of belay, belay-hook and belay-eval in /usr/local/bin. The programs are those that lie
beside this one. Then it starts belay, and agents of this machine ask it from there on.

Each step is whole or not done, and install can be run again at any time. It leaves belay.yaml,
trust.yaml and system.yaml alone once they are there. It refuses a link, a pipe or another
program's file that stands in the place of a file of belay's, and changes nothing then.

With --root it installs into the tree of an image, and starts nothing.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.systemInstall(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.root, "root", "", "install into the image in `DIR`, which must be root's")
	cmd.Flags().StringVar(&f.programs, "programs", "", "take belay, belay-hook and belay-eval from `DIR`")
	cmd.Flags().BoolVar(&f.noStart, "no-start", false, "start nothing now: agents are blocked until belay is started")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be made, and make nothing")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *App) systemStatusCmd() *cobra.Command {
	var f systemFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Compare what is installed with what should be there",
		Long: `status looks at each file with its owner and mode, and at the sockets. It asks the daemon, and
says what holds its process in and which engine runs hooks. Each deviation is red and stands with
the command that mends it; then the exit status is 1. Root sees all of it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.systemStatus(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.root, "root", "", "look at the image in `DIR`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *App) systemUpgradeCmd() *cobra.Command {
	var f systemFlags
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Replace the installed programs by those of this belay",
		Long: `upgrade is run from the new belay: it copies belay, belay-hook and belay-eval that lie beside
it. It tries the new belay as the daemon's user before anything is replaced, replaces each file at
once, and restarts the daemon. If the daemon does not answer then, everything is put back as it was.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.systemUpgrade(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.root, "root", "", "upgrade the image in `DIR`")
	cmd.Flags().StringVar(&f.programs, "programs", "", "take belay, belay-hook and belay-eval from `DIR`")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be replaced, and replace nothing")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *App) systemUninstallCmd() *cobra.Command {
	var f systemFlags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take system mode away, and keep the log",
		Long: `uninstall stops belay and removes what install wrote. Files that were changed since stay.
The state with its log, the users, belay.yaml and trust.yaml stay, too; system.yaml stays under
another name. --purge removes all of that for good.

Disconnect agent runtimes first (belay system disconnect): one that finds no belay-hook may let
its actions pass.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.systemUninstall(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.root, "root", "", "uninstall from the image in `DIR`")
	cmd.Flags().BoolVar(&f.purge, "purge", false, "remove state, log, keys, configuration and users, too")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// importFlags are what is imported, and what proves it.
type importFlags struct {
	systemFlags
	user       string
	key        string
	checkpoint string
}

func (a *App) systemImportCmd() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import DIR",
		Short: "Take a user's own state directory over into system mode",
		Long: `import copies the log of a user's own state directory, with the keys of its digests. Its
events, latches, leases and approvals go on in system mode. It proves the copy first, as
` + "`belay events verify`" + ` does, and compares it with the high-water mark. Without a proof nothing is
imported. Nor is it where the user has asked belay in system mode before.

belay.yaml and trust.yaml are not imported: /etc/belay counts. The directory itself stays as it is.`,
		Args: oneArg("the state directory"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.systemImport(cmd.Context(), args[0], f) },
	}
	cmd.Flags().StringVar(&f.user, "user", "", "whose it is: a user's `NAME` or uid")
	cmd.Flags().StringVar(&f.key, "key", "", "verifier `KEY`, as belay events key printed it when it could be trusted")
	cmd.Flags().StringVar(&f.checkpoint, "checkpoint", "", "`FILE` of checkpoints that lay elsewhere")
	cmd.Flags().StringVar(&f.root, "root", "", "import below `DIR`")
	_ = cmd.Flags().MarkHidden("root") // for tests: an image has no users who asked; the flag was just made
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// receiveCommand is what import starts as belay's own user.
const receiveCommand = "receive"

func (a *App) systemReceiveCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:    receiveCommand + " STATE UID [KEY]",
		Hidden: true,
		Short:  "Prove and take in an archive of standard input; started by `belay system import`",
		Args:   cobra.RangeArgs(2, 3),
		RunE:   func(cmd *cobra.Command, args []string) error { return a.systemReceive(cmd.Context(), args) },
	}
	return cmd
}
