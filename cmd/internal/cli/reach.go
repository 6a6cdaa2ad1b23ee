package cli

import "github.com/spf13/cobra"

// reach says what a command works on, on a machine in system mode.
type reach string

const (
	// reachDaemon: it asks the daemon of the machine, which says what this user may.
	reachDaemon reach = "asks the daemon"
	// reachOwn: it works on a state directory of one's own, which decides nothing there; it is refused, but for root
	// with --state, and where system.yaml lets such directories count.
	reachOwn reach = "works on a state directory"
	// reachFiles: it works on files of its author, or only prints; system mode is nothing to it.
	reachFiles reach = "works on files"
	// reachFlags: its flags say which of these it is, and it looks itself.
	reachFlags reach = "looks itself"
)

// reaches has each command that does something. One that is missing is refused.
func reaches() map[string]reach {
	out := map[string]reach{}
	for kind, names := range map[reach][]string{
		reachDaemon: {"approvals approve", "approvals deny", "approvals list", "approvals show", "approvals wait",
			"approvals watch", "config accept", "config effective", "config user",
			"events compact", "events export", "events query", "events reconcile", "events report", "events show", "events tail",
			"hook list", "hook propose", "latch clear", "latch list",
			"lease check", "lease list", "lease mint", "lease revoke", "lease show", "lease verify", "reload", "status"},
		reachOwn: {"events key", "events prove", "hook disable", "hook enable", "hook enforce", "hook install",
			"hook observe",
			"hook remove", "hook upgrade", "init", "recover", "trust add-identity",
			"trust add-key", "trust check", "trust deny", "trust init", "trust list"},
		reachFiles: {"", "__complete", "__completeNoDesc", "completion", "conform host", "conform sdk", "conform serve",
			"demo", "demo leases", "disconnect", "fuzz", "help", "hook build", "hook inspect", "hook new", "hook pull",
			"hook push", "hook sign", "hook verify", "migrate", "preview-proposal", "preview-recorded", "preview-upgrade",
			"record keygen", "redact", "replay", "rules build", "rules explain", "schema", "system connect",
			"system disconnect", "system import", "system install", "system receive", "system status", "system uninstall",
			"system upgrade", "test", "trust generate-key"},
		// A reviewer signs with a key of their own, and reads the configuration only to find it. record takes from the
		// daemon, or plays what is given to it.
		reachFlags: {"connect", "doctor", "eval", "events verify", "fleet status", "record", "reviewer init", "reviewer list",
			"reviewer sign config accept",
			"reviewer sign draft", "reviewer sign events compact", "reviewer sign latch clear", "reviewer sign record",
			"reviewer sign recover", "serve"},
	} {
		for _, name := range names {
			out[name] = kind
		}
	}
	return out
}

// withinReach refuses a command whose files decide nothing on this machine.
func (a *App) withinReach(cmd *cobra.Command) error {
	kind, known := reaches()[commandName(cmd)]
	if !known && cmd.HasSubCommands() { // it prints the commands below it
		return nil
	}
	if known && kind != reachOwn {
		return nil
	}
	return a.ownState()
}

// commandName is a command's path without the program's name.
func commandName(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	if above := commandName(cmd.Parent()); above != "" {
		return above + " " + cmd.Name()
	}
	return cmd.Name()
}
