package cli

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// lender is where leases are: the daemon, or the state directory.
type lender interface {
	Leases(ctx context.Context, q client.LeaseQuery) ([]leases.View, error)
	MintLease(ctx context.Context, m client.LeaseMint) (client.LeaseMinted, error)
	RevokeLease(ctx context.Context, r client.LeaseRevoke) error
	CheckLease(ctx context.Context, inv phases.Invocation, q client.LeaseCheck) (client.LeaseChecked, error)
	Close() error
}

func (a *App) openLender(ctx context.Context) (lender, error) { return a.lenderTo(ctx, toChange) }

// lookAtLeases is openLender for a command that changes nothing.
func (a *App) lookAtLeases(ctx context.Context) (lender, error) { return a.lenderTo(ctx, toLook) }

func (a *App) lenderTo(ctx context.Context, to func(dir string) belay.Options) (lender, error) {
	return openSource(ctx, a, to, func(c *client.Client) lender { return c }, func(host *belay.Belay) lender {
		return localLender{host}
	})
}

type localLender struct{ host *belay.Belay }

func (l localLender) Close() error { return l.host.Close() }

func (l localLender) Leases(ctx context.Context, q client.LeaseQuery) ([]leases.View, error) {
	return l.host.Leases(ctx, leases.Query{
		Prefix: q.Prefix, Holder: leases.Holder{Runtime: q.Runtime, Session: q.Session, Agent: q.Agent}, State: q.State,
		After: q.After, Limit: q.Limit,
	})
}

func (l localLender) MintLease(ctx context.Context, m client.LeaseMint) (client.LeaseMinted, error) {
	var v *leases.View
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

func (l localLender) CheckLease(ctx context.Context, inv phases.Invocation,
	q client.LeaseCheck) (client.LeaseChecked, error) {
	v, err := l.host.CheckLease(ctx,
		kernel.LeaseCheck{Holder: leases.HolderOf(inv, ""), Token: q.Token, Capability: q.Capability, Action: &inv,
			Claim: q.Claim})
	if errors.Is(err, leases.ErrUnknown) {
		return client.LeaseChecked{}, nil
	}
	return client.LeaseChecked{Active: err == nil, Lease: v}, err
}

// leaseFailure says what to do about an error of the leases.
func leaseFailure(err error) error {
	var p *client.Error
	var e *leases.Error
	switch {
	case errors.Is(err, leases.ErrUnknown), errors.As(err, &p) && p.Code == wire.CodeNotFound:
		return failureBy(err, "`belay lease list --all` prints all that there are.")
	case errors.As(err, &e):
		return failureBy(err, "docs/LEASES.md says what a lease may hold.")
	case errors.Is(err, approvals.ErrUnknown), errors.Is(err, approvals.ErrDecided),
		errors.Is(err, approvals.ErrExpired):
		return approvalFailure(err)
	}
	return recordsFailure(err)
}

var _ lender = (*client.Client)(nil)
