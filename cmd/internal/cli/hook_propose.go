package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

type hookProposeOptions struct {
	p      approvals.Proposal
	phases []string
	source string
	config string
	json   bool
}

func (a *App) hookProposeCmd() *cobra.Command {
	var options hookProposeOptions
	cmd := &cobra.Command{
		Use:   "propose FILE.wasm",
		Short: "Propose a hook: a person reviews it before it is bound",
		Long: `propose puts a module into the queue of approvals. It is kept under its digest and does not
run. A reviewer sees what the host finds out about it: imports, capabilities, and the difference
to the hook bound under its name. The reviewer also sees what it would have decided on recorded
events. Approved, it is bound as a sandboxed hook with exactly the capabilities shown. One byte
changed is a new proposal.`,
		Example: `  belay hook propose guard.wasm --source . --reason "keeps deploys out of Fridays"
  belay approvals show ID`,
		Args: oneArg("a module file"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookPropose(cmd.Context(), args[0], options) },
	}
	flags := cmd.Flags()
	flags.StringVar(&options.p.Reason, "reason", "", "why; the reviewer reads it")
	flags.StringVar(&options.source, "source", "",
		"directory with the source, to be shown to the reviewer without what .gitignore leaves out")
	flags.StringVar(&options.p.Name, "name", "", "name of the binding (default: the hook's own)")
	flags.StringSliceVar(&options.phases, "phase", nil, "phases to bind (default: all that the hook serves)")
	flags.IntVar(&options.p.Priority, "priority", 0, "higher runs first, up to 99")
	flags.StringVar(&options.p.Tools, "tools", "",
		"only for tools that this RE2 pattern matches (default: the manifest's)")
	flags.BoolVar(&options.p.AnyTool, "any-tool", false, "the pattern may match no tool that belay knows")
	flags.StringSliceVar(&options.p.Capabilities, "allow", nil,
		"capabilities to ask for (default: all that the manifest declares)")
	flags.StringVar(&options.config, "config", "", "file with the hook's configuration, JSON or YAML")
	flags.BoolVar(&options.p.Observe, "observe", false, "only watch what it would decide")
	flags.StringVar(&options.p.Runtime, "runtime", "", "the agent runtime that proposes it")
	flags.StringVar(&options.p.Session, "session", "", "the session that proposes it")
	flags.StringVar(&options.p.Agent, "agent", "", "the agent that proposes it")
	flags.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookPropose(ctx context.Context, file string, options hookProposeOptions) error {
	var err error
	if options.p.Module, err = readFresh(file); err != nil {
		return err
	}
	for _, p := range options.phases {
		options.p.Phases = append(options.p.Phases, phases.Phase(p))
	}
	if options.config != "" {
		if options.p.Config, err = readConfig(options.config); err != nil {
			return failureBy(err, "")
		}
	}
	if options.source != "" {
		if options.p.Source, err = readSource(options.source); err != nil {
			return failureBy(err, "--source takes a hook's folder, or another one with a few text files.")
		}
	}
	if err := queue.ValidateProposal(&options.p); err != nil {
		return failureBy(err, "")
	}
	item, changed, err := a.propose(ctx, options.p)
	switch {
	case errors.Is(err, belay.ErrNoConfig):
		return failureBy(err, "`belay init` writes a first configuration.")
	case errors.Is(err, install.ErrRefused):
		return failureBy(err, refusedHint(file, err))
	case errors.Is(err, approvals.ErrQuota):
		return failureBy(err, "Wait until a person has decided about some of them.")
	case err != nil:
		return recordsFailure(err)
	}
	if options.json {
		return a.printJSON(item)
	}
	switch {
	case changed || item.State == approvals.Consumed:
		fmt.Fprintf(a.Out, "%s is bound without a person's decision: single_user.auto_accept, and it can only restrict.\n",
			safe(cmp.Or(proposedName(&item), options.p.Name, "It")))
	case item.State == approvals.Denied:
		fmt.Fprintf(a.Out, "This was denied: %s\n", oneLine(item.Decision.Reason, 200))
		return exitWith(ExitBlocked)
	default:
		fmt.Fprintf(a.Out,
			"Proposed as %s. Until %s a reviewer can approve it:\n  belay approvals show %s\n  belay approvals approve %s\n",
			item.ID, item.Expires.Local().Format("15:04:05"), item.ID, item.ID)
	}
	return nil
}

// propose hands the proposal to the daemon, or puts it into the queue itself.
func (a *App) propose(ctx context.Context, proposal approvals.Proposal) (approvals.Item, bool, error) {
	c, err := a.daemon()
	if err != nil {
		return approvals.Item{}, false, err
	}
	if c != nil {
		defer c.Close()
		it, err := c.Propose(ctx, proposal)
		return it, false, err
	}
	dir, err := a.stateDir()
	if err != nil {
		return approvals.Item{}, false, err
	}
	host, err := a.openState(ctx, dir, belay.Options{NoHooks: true})
	if err != nil {
		return approvals.Item{}, false, err
	}
	defer host.Close()
	return host.Propose(ctx, proposal, peercred.Credential(os.Getuid()))
}

// readSource reads what a reviewer sees of a hook's folder.
func readSource(dir string) ([]approvals.SourceFile, error) {
	shown, err := hookbuild.ReadShown(dir, queue.MaxSourceFiles, queue.MaxSource)
	var out []approvals.SourceFile
	for _, f := range shown {
		out = append(out, approvals.SourceFile{Path: f.Path, Text: f.Text})
	}
	return out, err
}
