package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/leases"
)

// leaseTerms are the flags of mint.
type leaseTerms struct {
	id, parent, capability            string
	paths, hosts, tools, args         []string
	ttl, maxTTL                       time.Duration
	uses                              int64
	runtime, session, agent, approval string
	credential                        string
	json                              bool
}

func (a *App) leaseMintCmd() *cobra.Command {
	var terms leaseTerms
	cmd := &cobra.Command{
		Use:   "mint",
		Short: "Lend a capability to an agent",
		Long: `Lends a capability to one agent of one session. What --path, --host, --tool
or --args do not restrict is not restricted. A command (tool:exec) says nothing of what it
touches. So only a lease without --path and --host contains it, or one for --args: the digest
of this very call, which the block's reason names.

Where there are reviewers, one of them has to approve first: the command prints the
approval, and runs again with --approval after it was signed.`,
		Example: `  belay lease mint --capability tool:write --path '/srv/notes/**' --runtime claude-code --session S --ttl 5m --uses 3
  belay lease mint --approval ID`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.leaseMint(cmd.Context(), &terms) },
	}
	flags := cmd.Flags()
	flags.StringVar(&terms.capability, "capability", "",
		"what it lends: tool:exec, tool:*, fs:write, model:NAME, spawn, or a name of your own")
	flags.StringArrayVar(&terms.paths, "path", nil, "a path, DIR/** or *; may be repeated")
	flags.StringArrayVar(&terms.hosts, "host", nil, "HOST:PORT, *.suffix:PORT; may be repeated")
	flags.StringArrayVar(&terms.tools, "tool", nil, "a tool, ns:* or *; may be repeated")
	flags.StringArrayVar(&terms.args, "args", nil, "digest of a whole call, sha256:HEX; may be repeated")
	flags.DurationVar(&terms.ttl, "ttl", 5*time.Minute, "how long it lasts")
	flags.DurationVar(&terms.maxTTL, "max-ttl", 0, "how long it may be made to last by renewing (default: --ttl)")
	flags.Int64Var(&terms.uses, "uses", 1, "how often it can be used")
	flags.StringVar(&terms.runtime, "runtime", "custom", "runtime of the holder, as in its events")
	flags.StringVar(&terms.session, "session", "", "session of the holder")
	flags.StringVar(&terms.agent, "agent", "", "agent of the holder; \"\" is the main one")
	flags.StringVar(&terms.credential, "credential", "",
		"only a caller with this credential, such as \"uid 1000\" (default: any caller that names the session)")
	flags.StringVar(&terms.id, "id", "", "its id, such as S/task/notes (default: one is made)")
	flags.StringVar(&terms.parent, "parent", "", "the lease that it is a part of")
	flags.StringVar(&terms.approval, "approval", "", "make the lease that was approved under this id")
	flags.BoolVar(&terms.json, "json", false, "print JSON")
	return cmd
}

func (o *leaseTerms) mint() (client.LeaseMint, error) {
	if o.approval != "" {
		if o.capability != "" || o.session != "" || o.id != "" || o.parent != "" {
			return client.LeaseMint{}, usageError("--approval says all the terms itself", "")
		}
		return client.LeaseMint{Approval: o.approval}, nil
	}
	if o.capability == "" || o.session == "" {
		return client.LeaseMint{},
			usageError("--capability and --session are needed",
				"`belay events tail` shows the sessions; the reason of a block says which capability it takes.")
	}
	for name, d := range map[string]time.Duration{"--ttl": o.ttl, "--max-ttl": o.maxTTL} {
		if d%time.Second != 0 || d < 0 {
			return client.LeaseMint{}, usageError(name+" is in whole seconds", "")
		}
	}
	if o.uses < 1 {
		return client.LeaseMint{}, usageError("--uses is at least 1", "")
	}
	return client.LeaseMint{
		Request: leases.Request{
			ID: o.id, Parent: o.parent, Capability: o.capability,
			Scope: &leases.Scope{Paths: o.paths, Hosts: o.hosts, Tools: o.tools, Args: o.args},
			TTLS:  int64(o.ttl / time.Second), MaxTTLS: int64(o.maxTTL / time.Second), MaxUses: o.uses,
		},
		Holder: &leases.Holder{Runtime: o.runtime, Session: o.session, Agent: o.agent, Credential: o.credential},
	}, nil
}

func (a *App) leaseMint(ctx context.Context, terms *leaseTerms) error {
	m, err := terms.mint()
	if err != nil {
		return err
	}
	l, err := a.openLender(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	got, err := l.MintLease(ctx, m)
	if err != nil {
		return leaseFailure(err)
	}
	if terms.json {
		if err := a.printJSON(got); err != nil || got.Lease != nil {
			return err
		}
	}
	if got.Lease == nil {
		return &exitError{code: ExitPending, text: "a reviewer has to approve this lease first: approval " + got.Approval,
			hint: "`belay approvals approve " + got.Approval + "`, then `belay lease mint --approval " + got.Approval + "`."}
	}
	a.printLease(got.Lease)
	fmt.Fprintf(a.Out, "%-12s %s\n", "token", got.Lease.Token)
	fmt.Fprintln(a.Err, "The token is shown only now. An agent needs none for what belay itself decides.")
	return nil
}
