package kernel

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Decisions of the notices about configurations.
const (
	DecisionConfigured = "configured" // a revision came into force that no reviewer has signed
	DecisionAccepted   = "accepted"   // a person looked at the revisions until then
	DecisionNotUsed    = "not_used"   // a configuration could not be taken into use: the one before stays
)

// Announcement describes to the log a configuration that comes into force without
// a reviewer's signature.
type Announcement struct {
	Text string         // for people; follows the revision
	Data jsontext.Value // what changed

	// Done is called once, with whether the announcement is in the log. Not nil.
	Done func(logged bool)
}

// Announcer describes to the log the configuration that it belongs to, before
// any event under that configuration is; nil when it is in the log already. With an
// error nothing is decided until it works.
type Announcer func(context.Context) (*Announcement, error)

// announcing holds what could not be announced yet.
type announcing struct {
	mu      sync.Mutex
	waiting Announcer
}

// announce logs that a configuration comes into force. What cannot be logged now is
// tried again before anything else is.
func (k *Kernel) announce(ctx context.Context, a Announcer) error {
	k.announcing.mu.Lock()
	k.announcing.waiting = a
	k.announcing.mu.Unlock()
	return k.announceWaiting(ctx)
}

// announceWaiting logs what waits to be announced. The error is ErrUnavailable.
func (k *Kernel) announceWaiting(ctx context.Context) error {
	k.announcing.mu.Lock()
	defer k.announcing.mu.Unlock()
	s := k.current.Load()
	if k.announcing.waiting == nil || s == nil {
		return nil
	}
	a, err := k.announcing.waiting(ctx)
	if err == nil && a != nil {
		_, err = k.commit(ctx, k.configured(s, "configuration in use: "+s.revision, a))
		a.Done(err == nil)
	}
	if err != nil {
		k.options.Logger.LogAttrs(ctx, slog.LevelError,
			"a change of the configuration could not be logged: nothing is decided until it can", slog.Any("error", err))
		return errors.Join(ErrUnavailable, err)
	}
	k.announcing.waiting = nil
	return nil
}

// noticeOf logs that a configuration comes into force in the place of another, and what
// there is to be announced of it. The error is ErrUnavailable.
func (k *Kernel) noticeOf(ctx context.Context, snap *snapshot, text string, ask Announcer) error {
	if ask == nil {
		return k.notice(ctx, snap, text)
	}
	k.announcing.mu.Lock()
	defer k.announcing.mu.Unlock()
	a, err := ask(ctx)
	if err != nil {
		return errors.Join(ErrUnavailable, err)
	}
	if a == nil {
		return k.notice(ctx, snap, text)
	}
	_, err = k.commit(ctx, k.configured(snap, text, a))
	a.Done(err == nil)
	if err == nil {
		k.announcing.waiting = nil // it decided nothing, and what changed since then is in this one
	}
	return err
}

// configured is the batch that announces a configuration.
func (k *Kernel) configured(s *snapshot, text string, a *Announcement) Batch {
	now := k.options.Clock.Now()
	return Batch{Now: now, Events: []phases.Event{{
		ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, PolicyRevision: s.revision,
		Decision: DecisionConfigured,
		Reason:   phases.SafeText(text+": "+a.Text, phases.MaxReasonBytes), Output: a.Data,
	}}}
}

// NotUsed records why another configuration was not taken into use: the one that is stays.
// The error is ErrUnavailable or ErrClosed.
func (k *Kernel) NotUsed(ctx context.Context, why string) error {
	if err := k.announceWaiting(ctx); err != nil {
		return err
	}
	now := k.options.Clock.Now()
	_, err := k.commit(ctx, Batch{Now: now, Events: []phases.Event{{
		ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, PolicyRevision: k.Revision(),
		Decision: DecisionNotUsed,
		Reason: phases.SafeText("the configuration before stays in use: "+phases.SafeLine(why, phases.MaxReasonBytes),
			phases.MaxReasonBytes),
	}}})
	return err
}

// ConfigOrder describes an order to accept a configuration: exactly the revision
// that was looked at.
type ConfigOrder struct {
	Revision string `json:"revision"` // as in verdicts
}

// AcceptConfig records that a person has looked at the configuration in use: the
// revisions that came into force until now are not counted any more. revision is the
// one that was looked at; ErrConflict when another is in use. Where a reviewer is
// registered it takes an order to VerbConfigAccept that says ConfigOrder; by counts
// only without one. Other errors are as of UseOrder.
func (k *Kernel) AcceptConfig(ctx context.Context, revision, by string, o *approvals.Order) error {
	if err := k.announceWaiting(ctx); err != nil {
		return err
	}
	if revision != k.Revision() {
		return ErrConflict
	}
	used, err := k.UseOrder(ctx, queue.VerbConfigAccept, ConfigOrder{revision}, o)
	if err != nil {
		return err
	}
	if o != nil {
		by = o.By
	}
	now := k.options.Clock.Now()
	_, err = k.commit(ctx, Batch{Now: now, Events: append(used, phases.Event{
		ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, User: phases.SafeLine(by, phases.MaxIDBytes),
		PolicyRevision: revision,
		Decision:       DecisionAccepted, Reason: "configuration accepted: " + phases.SafeLine(revision, 512),
	})})
	return err
}
