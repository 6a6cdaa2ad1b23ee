package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) leaseCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "lease",
		Aliases: []string{"leases"},
		Short:   "See, lend and take back what agents may do for a while",
		Long: `A lease lends one agent of one session a capability, for a scope, a time and a number
of uses. Hooks lend them, and people do here. Everything below an id goes with it when
it is taken back.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.leaseListCmd(), a.leaseShowCmd(), a.leaseMintCmd(), a.leaseRevokeCmd(), a.leaseCheckCmd(), a.leaseVerifyCmd())
	return cmd
}

// lender is where leases are: the daemon, or the state directory.
type lender interface {
	Leases(ctx context.Context, q client.LeaseQuery) ([]client.Lease, error)
	MintLease(ctx context.Context, m client.LeaseMint) (client.LeaseMinted, error)
	RevokeLease(ctx context.Context, r client.LeaseRevoke) error
	CheckLease(ctx context.Context, inv phases.Invocation, q client.LeaseCheck) (client.LeaseChecked, error)
	Close() error
}

func (a *App) openLender(ctx context.Context) (lender, error) {
	return openSource(ctx, a, func(c *client.Client) lender { return c }, func(host *belay.Belay) lender { return localLender{host} })
}

type localLender struct{ host *belay.Belay }

func (l localLender) Close() error { return l.host.Close() }

func (l localLender) Leases(ctx context.Context, q client.LeaseQuery) ([]client.Lease, error) {
	return l.host.Leases(ctx, kernel.LeaseQuery{
		Prefix: q.Prefix, Holder: kernel.LeaseHolder{Runtime: q.Runtime, Session: q.Session, Agent: q.Agent}, State: q.State, After: q.After, Limit: q.Limit,
	})
}

func (l localLender) MintLease(ctx context.Context, m client.LeaseMint) (client.LeaseMinted, error) {
	var v *kernel.LeaseView
	var err error
	if m.Approval != "" {
		v, err = l.host.MintApproved(ctx, m.Approval)
	} else {
		v, err = l.host.MintLease(ctx, m.Request, *m.Holder, "")
	}
	var wait *kernel.LeasePending
	if errors.As(err, &wait) {
		return client.LeaseMinted{Approval: wait.Approval.ID, Expires: wait.Approval.Expires}, nil
	}
	return client.LeaseMinted{Lease: v}, err
}

func (l localLender) RevokeLease(ctx context.Context, r client.LeaseRevoke) error {
	return l.host.RevokeLease(ctx, r.ID+r.Prefix, r.Prefix != "", "")
}

func (l localLender) CheckLease(ctx context.Context, inv phases.Invocation, q client.LeaseCheck) (client.LeaseChecked, error) {
	v, err := l.host.CheckLease(ctx, kernel.LeaseCheck{Holder: leases.HolderOf(inv, ""), Token: q.Token, Capability: q.Capability, Action: &inv, Claim: q.Claim})
	if errors.Is(err, kernel.ErrLeaseUnknown) {
		return client.LeaseChecked{}, nil
	}
	return client.LeaseChecked{Active: err == nil, Lease: v}, err
}

func (a *App) leaseListCmd() *cobra.Command {
	var q client.LeaseQuery
	var state string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List leases",
		Example: "  belay lease list\n  belay lease list --all --prefix s-1 --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.State = client.LeaseState(state)
			if q.State == "" && !all {
				q.State = leases.Active
			}
			if q.State != "" && !contains([]leases.State{leases.Active, leases.Exhausted, leases.Expired, leases.Revoked}, q.State) {
				return usageError("--state: "+safe(state)+" is not known", "Known: active, exhausted, expired, revoked.")
			}
			if q.Limit < 1 || q.Limit > leases.MaxLimit {
				return usageError(fmt.Sprintf("--limit must be from 1 to %d", leases.MaxLimit), "")
			}
			return a.leaseList(cmd.Context(), q, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "also what is used up, expired or revoked")
	f.StringVar(&q.Prefix, "prefix", "", "only this id and what lies below it")
	f.StringVar(&q.Runtime, "runtime", "", "only of this runtime")
	f.StringVar(&q.Session, "session", "", "only of this session")
	f.StringVar(&q.Agent, "agent", "", "only of this agent")
	f.StringVar(&state, "state", "", "only these: active, exhausted, expired, revoked")
	f.IntVar(&q.Limit, "limit", leases.DefaultLimit, "how many at most, up to 1000")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) leaseList(ctx context.Context, q client.LeaseQuery, asJSON bool) error {
	l, err := a.openLender(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	list, err := l.Leases(ctx, q)
	if err != nil {
		return recordsFailure(err)
	}
	if asJSON {
		if list == nil {
			list = []client.Lease{}
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "There is no such lease. `belay lease list --all` shows those that are over, too.")
		return nil
	}
	t := newTable("ID", "STATE", "CAPABILITY", "HOLDER", "LEFT", "ENDS", "BY").alignRight(4)
	for i := range list {
		v := &list[i]
		t.row(safe(v.ID), string(v.State), safe(v.Capability), holderText(&v.Holder), strconv.FormatInt(v.UsesLeft, 10), v.ExpiresAt.Local().Format(time.DateTime), issuerText(&v.Issuer))
	}
	t.print(a.Out, a.palette())
	return nil
}

func holderText(h *client.LeaseHolder) string {
	return safe(strings.Join([]string{h.Runtime, h.Session, h.Agent}, "/"))
}

func issuerText(i *leases.Issuer) string {
	switch i.Kind {
	case leases.ByHook:
		return safe("hook " + i.Hook)
	case leases.ByPerson:
		return safe(i.Person)
	}
	return safe(i.Kind)
}

func (a *App) leaseShowCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one lease",
		Args:  leaseArg("lease show takes the id of a lease", "`belay lease list --all` prints them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.openLender(cmd.Context())
			if err != nil {
				return err
			}
			defer l.Close()
			list, err := l.Leases(cmd.Context(), client.LeaseQuery{Prefix: args[0], Limit: 1})
			if err != nil {
				return recordsFailure(err)
			}
			if len(list) == 0 || list[0].ID != args[0] {
				return failure("there is no lease "+safe(args[0]), "`belay lease list --all` prints them.")
			}
			if asJSON {
				return a.printJSON(list[0])
			}
			a.printLease(&list[0])
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// leaseArg wants one argument, and says what to do without.
func leaseArg(text, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError(text, hint)
		}
		return nil
	}
}

func (a *App) printLease(v *client.Lease) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.Out, "%-12s %s\n", name, value)
		}
	}
	row("id", safe(v.ID))
	row("state", string(v.State))
	row("capability", safe(v.Capability))
	row("holder", holderText(&v.Holder))
	row("credential", safe(v.Holder.Credential))
	for _, d := range []struct {
		name string
		list []string
	}{{"paths", v.Scope.Paths}, {"hosts", v.Scope.Hosts}, {"tools", v.Scope.Tools}, {"args", v.Scope.Args}} {
		text := "*"
		if d.list != nil {
			text = strings.Join(d.list, " ")
		}
		row(d.name, safe(text))
	}
	row("begins", v.NotBefore.Local().Format(time.DateTime))
	row("ends", v.ExpiresAt.Local().Format(time.DateTime))
	row("uses left", strconv.FormatInt(v.UsesLeft, 10))
	row("parent", safe(v.Parent))
	row("by", issuerText(&v.Issuer))
	row("hook digest", safe(v.Issuer.Digest))
	row("signer", safe(v.Issuer.Signer))
	row("invocation", safe(v.Issuer.Invocation))
}

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
	var o leaseTerms
	cmd := &cobra.Command{
		Use:   "mint",
		Short: "Lend a capability to an agent",
		Long: `Lends a capability to one agent of one session. What is not restricted by --path,
--host, --tool or --args is not restricted. A command (tool:exec) says nothing of what
it touches: only a lease without --path and --host covers it, or one for --args, the
digest of this very call, which the block's reason names.

Where there are reviewers, one of them has to approve first: the command prints the
approval, and runs again with --approval after it was signed.`,
		Example: `  belay lease mint --capability tool:write --path '/srv/notes/**' --runtime claude-code --session S --ttl 5m --uses 3
  belay lease mint --approval ID`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.leaseMint(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.capability, "capability", "", "what it lends: tool:exec, tool:*, fs:write, model:NAME, spawn, or a name of your own")
	f.StringArrayVar(&o.paths, "path", nil, "a path, DIR/** or *; may be repeated")
	f.StringArrayVar(&o.hosts, "host", nil, "HOST:PORT, *.suffix:PORT; may be repeated")
	f.StringArrayVar(&o.tools, "tool", nil, "a tool, ns:* or *; may be repeated")
	f.StringArrayVar(&o.args, "args", nil, "digest of a whole call, sha256:HEX; may be repeated")
	f.DurationVar(&o.ttl, "ttl", 5*time.Minute, "how long it lasts")
	f.DurationVar(&o.maxTTL, "max-ttl", 0, "how long it may be made to last by renewing (default: --ttl)")
	f.Int64Var(&o.uses, "uses", 1, "how often it can be used")
	f.StringVar(&o.runtime, "runtime", "custom", "runtime of the holder, as in its events")
	f.StringVar(&o.session, "session", "", "session of the holder")
	f.StringVar(&o.agent, "agent", "", "agent of the holder; \"\" is the main one")
	f.StringVar(&o.credential, "credential", "", "only whoever comes with this, such as \"uid 1000\" (default: whoever names the session)")
	f.StringVar(&o.id, "id", "", "its id, such as S/task/notes (default: one is made)")
	f.StringVar(&o.parent, "parent", "", "the lease that it is a part of")
	f.StringVar(&o.approval, "approval", "", "make the lease that was approved under this id")
	f.BoolVar(&o.json, "json", false, "print JSON")
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
		return client.LeaseMint{}, usageError("--capability and --session are needed", "`belay events tail` shows the sessions; the reason of a block says which capability it takes.")
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
			ID: o.id, Parent: o.parent, Capability: o.capability, Scope: &leases.Scope{Paths: o.paths, Hosts: o.hosts, Tools: o.tools, Args: o.args},
			TTLS: int64(o.ttl / time.Second), MaxTTLS: int64(o.maxTTL / time.Second), MaxUses: o.uses,
		},
		Holder: &client.LeaseHolder{Runtime: o.runtime, Session: o.session, Agent: o.agent, Credential: o.credential},
	}, nil
}

func (a *App) leaseMint(ctx context.Context, o *leaseTerms) error {
	m, err := o.mint()
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
	if o.json {
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

func (a *App) leaseRevokeCmd() *cobra.Command {
	var prefix bool
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Take a lease back, and everything below it",
		Args:  leaseArg("lease revoke takes the id of a lease, or with --prefix the beginning of ids", "`belay lease list` prints them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.openLender(cmd.Context())
			if err != nil {
				return err
			}
			defer l.Close()
			r := client.LeaseRevoke{ID: args[0]}
			if prefix {
				r = client.LeaseRevoke{Prefix: args[0]}
			}
			if err := l.RevokeLease(cmd.Context(), r); err != nil {
				return leaseFailure(err)
			}
			what := "Lease " + safe(args[0]) + " and everything below it"
			if prefix {
				what = "Every lease at or below " + safe(args[0])
			}
			fmt.Fprintln(a.Err, what+" is taken back, and that is on record.")
			return nil
		},
	}
	cmd.Flags().BoolVar(&prefix, "prefix", false, "every lease at or below this id, whether there is one of that very id or not")
	return cmd
}

func (a *App) leaseCheckCmd() *cobra.Command {
	var q client.LeaseCheck
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Ask whether a lease covers an action",
		Long: `Reads an invocation as belay eval does and says whether its agent holds a lease of the
capability that covers it. Exits 0 when it does and 3 when it does not.`,
		Example: "  belay lease check --capability tool:write < invocation.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Capability == "" {
				return usageError("--capability is needed", "")
			}
			return a.leaseCheck(cmd.Context(), &q, file, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Capability, "capability", "", "the capability that the lease must have")
	f.StringVar(&q.Token, "token", "", "the token of one lease (default: whichever covers it)")
	f.BoolVar(&q.Claim, "claim", false, "take one use")
	f.StringVarP(&file, "file", "f", "", "the invocation (default: standard input)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) leaseCheck(ctx context.Context, q *client.LeaseCheck, file string, asJSON bool) error {
	src, err := a.readInput(ctx, file)
	if err != nil {
		return err
	}
	inv, err := phases.DecodeInvocation(src)
	if err == nil {
		inv, err = phases.Normalize(inv)
	}
	if err != nil {
		return failureBy(err, "`belay eval --help` shows the form.")
	}
	l, err := a.openLender(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	got, err := l.CheckLease(ctx, inv, *q)
	if err != nil {
		return leaseFailure(err)
	}
	if asJSON {
		if err := a.printJSON(got); err != nil {
			return err
		}
	}
	if !got.Active {
		return &exitError{code: ExitBlocked, text: "no lease of this agent covers it", hint: "`belay lease list --session " + safe(inv.Session) + "` shows what it holds."}
	}
	if !asJSON {
		fmt.Fprintf(a.Out, "Covered by lease %s, %d uses left.\n", safe(got.Lease.ID), got.Lease.UsesLeft)
	}
	return nil
}

// leaseFailure says what to do about an error of the leases.
func leaseFailure(err error) error {
	var p *client.Error
	var e *leases.Error
	switch {
	case errors.Is(err, leases.ErrUnknown), errors.As(err, &p) && p.Code == client.CodeNotFound:
		return failureBy(err, "`belay lease list --all` prints all that there are.")
	case errors.As(err, &e):
		return failureBy(err, "docs/LEASES.md says what a lease may hold.")
	case errors.Is(err, kernel.ErrApprovalUnknown), errors.Is(err, kernel.ErrApprovalDecided), errors.Is(err, kernel.ErrApprovalExpired):
		return approvalFailure(err)
	}
	return recordsFailure(err)
}

var (
	_ lender = (*client.Client)(nil)
)
