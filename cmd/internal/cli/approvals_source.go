package cli

import (
	"context"
	"errors"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// approver is where approvals are listed and decided: the daemon, or the state directory.
type approver interface {
	Approvals(ctx context.Context, q client.ApprovalQuery) ([]approvals.Item, error)
	Approval(ctx context.Context, id string, wait time.Duration) (approvals.Item, error)
	Decide(ctx context.Context, id string, d approvals.Decision) (approvals.Item, error)
	Close() error
}

// openQueue opens the queue, of the daemon or of the directory without its hooks.
func (a *App) openQueue(ctx context.Context) (approver, error) { return a.queueTo(ctx, toChange) }

// lookAtQueue is openQueue for a command that changes nothing.
func (a *App) lookAtQueue(ctx context.Context) (approver, error) { return a.queueTo(ctx, toLook) }

func (a *App) queueTo(ctx context.Context, to func(dir string) belay.Options) (approver, error) {
	return openSource(ctx, a, to, func(c *client.Client) approver { return c }, func(host *belay.Belay) approver {
		return localQueue{host}
	})
}

type localQueue struct{ host *belay.Belay }

func (l localQueue) Close() error { return l.host.Close() }

func (l localQueue) Approvals(ctx context.Context, q client.ApprovalQuery) ([]approvals.Item, error) {
	return l.host.Approvals(ctx, approvals.Query{Kind: q.Kind, State: q.State, Before: q.Before, Limit: q.Limit})
}

// believeEvery is how often the whole database is compared with its log while a command waits.
const believeEvery = 2 * time.Second

// lookTime is how long a running look may take after the patience ends: a short
// wait on a slow machine ends with the stored item, not with an error.
const lookTime = 2 * time.Second

// localPoll is how often the database is looked at for a decision by another process.
const localPoll = 250 * time.Millisecond

func (l localQueue) Approval(ctx context.Context, id string, wait time.Duration) (approvals.Item, error) {
	end := time.Now().Add(min(wait, daemonapi.MaxWait))
	var compared time.Time
	for {
		elsewhere := l.host.Changed()
		if wait > 0 && time.Since(compared) > believeEvery {
			if err := l.host.Log().Believed(ctx); err != nil {
				return approvals.Item{}, err
			}
			compared = time.Now()
		}
		it, err := l.host.Approval(ctx, id)
		if err != nil || it.State != approvals.Pending || !time.Now().Before(end) {
			return it, err
		}
		select {
		case <-ctx.Done():
			return it, nil
		case <-elsewhere:
		case <-time.After(localPoll):
		}
	}
}

func (l localQueue) Decide(ctx context.Context, id string, d approvals.Decision) (approvals.Item, error) {
	it, _, err := l.host.Decide(ctx, id, d) // who comes next reads belay.yaml anew
	return it, err
}

// approvalFailureOf is approvalFailure of one item, which it names where there is none.
func approvalFailureOf(id string, err error) error {
	var p *client.Error
	if errors.As(err, &p) && p.Code == wire.CodeNotFound || errors.Is(err, approvals.ErrUnknown) {
		return failure("there is no approval "+safe(id), "`belay approvals list --all` prints the ids of all that there are.")
	}
	return approvalFailure(err)
}

// approvalFailure says what to do about an error of the queue.
func approvalFailure(err error) error {
	var p *client.Error
	switch {
	case errors.As(err, &p) && p.Code == wire.CodeNotFound, errors.Is(err, approvals.ErrUnknown):
		return failureBy(err, "`belay approvals list --all` prints the ids of all that there are.")
	case errors.Is(err, approvals.ErrHidden):
		return failureBy(err,
			"`belay approvals deny ID` answers it; the agent can ask again without repeating the secret there.")
	case errors.Is(err, approvals.ErrUnsound):
		return failureBy(err,
			"It is neither shown nor decided. `belay events query --type approval --decision unsound` says why.")
	case errors.As(err, &p) && p.Code == wire.CodeSignature, errors.Is(err, approvals.ErrSignature):
		return failureBy(err, "`belay reviewer list` shows whose decisions count.")
	case errors.As(err, &p) && p.Code == wire.CodeConflict, errors.Is(err, approvals.ErrDecided),
		errors.Is(err, approvals.ErrExpired), errors.Is(err, approvals.ErrContent):
		return failureBy(err, "Nothing was changed. `belay approvals show ID` says how it stands.")
	}
	return recordsFailure(err)
}

// waitFor waits until the item is decided, or for so long. A daemon that is
// restarted meanwhile is no reason to give up; a store that is blocked until
// `belay recover` is one.
func (a *App) waitFor(ctx context.Context, id string, patience time.Duration) (approvals.Item, error) {
	ctx, cancel := context.WithTimeout(ctx, patience+lookTime)
	defer cancel()
	end := time.Now().Add(patience)
	var last approvals.Item
	var failed error
	for first := true; first || time.Now().Before(end) && ctx.Err() == nil; first = false {
		it, err := a.waitOnce(ctx, id, max(0, time.Until(end)))
		var p *client.Error
		switch {
		case err == nil && it.State != approvals.Pending:
			return it, nil
		case err == nil:
			last, failed = it, nil
			continue
		case errors.As(err, &p) && (p.Status < 500 || p.Trouble != ""), errors.Is(err, kernel.ErrTampered),
			errors.Is(err, kernel.ErrRollback),
			errors.Is(err, approvals.ErrUnknown), errors.Is(err, approvals.ErrUnsound):
			return it, err
		}
		failed = err
		select {
		case <-ctx.Done():
		case <-time.After(localPoll):
		}
	}
	if last.ID == "" {
		return last, failed
	}
	return last, nil
}

func (a *App) waitOnce(ctx context.Context, id string, wait time.Duration) (approvals.Item, error) {
	q, err := a.lookAtQueue(ctx)
	if err != nil {
		return approvals.Item{}, err
	}
	defer q.Close()
	return q.Approval(ctx, id, wait)
}
