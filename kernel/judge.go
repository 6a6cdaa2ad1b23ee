package kernel

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// afterwards belongs to an invocation that judges an event which was refused before. It
// is used by one goroutine.
type afterwards struct {
	of   *refused
	last bool // of the event's invocations: its verdict ends the latch

	staged  bool // the batch settles it: the verdict passes, or latches for good
	decided bool // and it was committed
}

// noteAfterwards begins the note of a verdict on an event that was refused before.
const noteAfterwards = "judged afterwards"

// limit notes in the verdict which refused event it judges, and makes a block of each change of
// an event that has happened. Contexts are lost, as in events that have no place for them.
func (a *afterwards) limit(verdict *phases.Verdict) {
	if len(verdict.Notes) == 0 || !strings.HasPrefix(verdict.Notes[0], noteAfterwards) {
		verdict.Notes = slices.Insert(verdict.Notes, 0, noteAfterwards+": invocation "+a.of.id+" was refused for "+
			string(a.of.why))
		if verdict.Decision == phases.Allow && len(verdict.Contexts) > 0 {
			verdict.Notes = append(verdict.Notes, "contexts were not delivered: the event is over")
		}
	}
	if by, what := unappliable(verdict); verdict.Decision == phases.Allow && what != "" {
		blockVerdict(verdict, phases.KindPolicy, by, "the event was refused and judged afterwards: "+by+" wants to "+what+
			", and it is too late for that")
	}
}

// unappliable names what the verdict would change in an event that has happened, and the hook
// that asked for it. The arguments of a call that has run are changed for the record only.
func unappliable(verdict *phases.Verdict) (by, what string) {
	var kinds []phases.EffectKind
	switch {
	case verdict.Reply != nil:
		return verdict.Reply.Hook, "answer it"
	case verdict.Retry != nil:
		return verdict.Retry.Hook, "have it done again"
	case slices.ContainsFunc(verdict.Changed, func(at string) bool {
		return verdict.Phase != phases.PostTool || !phases.Covers("/args", at) && !phases.Covers("/original_args", at)
	}):
		kinds, what = []phases.EffectKind{phases.EffectRewrite, phases.EffectRedact}, "change it"
	default:
		return "", ""
	}
	for _, h := range verdict.Hooks {
		for _, e := range h.Effects {
			if h.Mode != phases.Observe && slices.Contains(kinds, e.Kind) {
				return h.Hook, what
			}
		}
	}
	return kernelName, what
}

// stage adds the change of the latch to the batch of the verdict: in one transaction, so
// that no crash lifts a latch without a judgement. A block for a cause of belay's own making
// decides nothing.
func (a *afterwards) stage(batch *Batch, i *invocation, verdict *phases.Event, why phases.LatchKind, latch *Latch) {
	passes := verdict.Decision == string(phases.Allow)
	a.staged = passes || !why.OwnMaking()
	switch {
	case !passes && a.staged:
		i.kernel.latch(batch, verdict, why, phases.EndsByPerson)
	case passes && a.last && latch != nil && latch.Key() == a.of.key && latch.EndsItself(a.of.id):
		i.kernel.stageLift(batch, latch, "every hook passes the event that was refused", verdict.ID)
	}
}

// judgeFirstFor is how long an invocation waits for refused invocations of its session to be
// judged.
const judgeFirstFor = 5 * time.Second

// judgeFirst judges the refused invocations of the session before the invocation is decided, as
// far as their causes have ended. Those that remain keep the session latched.
func (i *invocation) judgeFirst(ctx context.Context) {
	if i.options.Unblockable || insideTurn(ctx, i.kernel) {
		return
	}
	if err := i.kernel.judgeRetained(ctx, &i.session, judgeFirstFor); err != nil {
		i.kernel.options.Logger.LogAttrs(ctx, slog.LevelWarn, "what was refused could not be judged yet",
			slog.Any("error", err))
	}
}

// judgeRetained judges the retained events whose cause has ended, of the session or, with
// nil, all, and begins no other one after most, unless that is 0. The error is ErrUnavailable
// or the context's.
func (k *Kernel) judgeRetained(ctx context.Context, of *wire.Session, most time.Duration) error {
	began, stuck := time.Now(), map[wire.Session]bool{}
	for k.retained.any(of) && (most == 0 || time.Since(began) < most) {
		more, err := k.judgeNext(ctx, of, stuck)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// judgeNext judges the next event; more is false when there was none. A session whose
// event could not be judged is added to stuck.
func (k *Kernel) judgeNext(ctx context.Context, of *wire.Session, stuck map[wire.Session]bool) (more bool, err error) {
	leave, err := k.retained.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	refused := k.retained.next(of, stuck, func(why phases.LatchKind) bool { return k.causeOver(why) != "" })
	if refused == nil {
		return false, nil
	}
	if err := k.recoverGap(ctx, k.Revision()); err != nil { // with the latch, if it was noted
		return false, err
	}
	l, err := k.options.Store.Latch(context.WithoutCancel(ctx), refused.key)
	if err != nil {
		return false, err
	}
	if l == nil || l.Key() != refused.key || l.Ends != phases.EndsByJudging {
		k.retained.remove(refused) // a person has cleared it, or has to
		return true, nil
	}
	decided, err := k.judge(ctx, refused)
	switch {
	case err != nil:
		return false, err
	case decided:
		k.retained.remove(refused)
	default:
		stuck[refused.key] = true
	}
	return true, nil
}

// judge runs the hooks on the event, and returns false if nothing came of that by belay's
// own making. Preconditions: the turn of k.retained is held.
func (k *Kernel) judge(ctx context.Context, refused *refused) (decided bool, err error) {
	for n := range refused.of {
		inv := &refused.of[n]
		if k.retained.o.Ready != nil {
			if err := k.retained.o.Ready(inv); err != nil {
				return false, nil
			}
		}
		a := &afterwards{of: refused, last: n == len(refused.of)-1}
		v, failure := k.InvokeWith(ctx, *inv, InvokeOptions{Unblockable: true, Credential: k.retained.o.Credential, after: a})
		switch f := phases.FaultOf(failure); {
		case a.decided && v.Decision == phases.Allow:
			continue
		case a.decided:
			return true, nil // its latch is recorded
		case f != nil && (f.Kind == phases.KindStore || f.Kind == phases.KindDeadline || f.Kind == phases.KindLoad):
			return false, nil
		}
		return true, k.keepLatched(ctx, refused.key, refused.id, "what was refused cannot be judged: "+v.Reason)
	}
	return true, nil
}

// giveUp makes a latch wait for a person that waits for the verdict on an event which this
// process does not retain: the one that did has ended.
func (k *Kernel) giveUp(ctx context.Context, l *Latch) error {
	if k.retained.o == nil || k.retained.has(l.Invocation) {
		return nil
	}
	leave, err := k.retained.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if k.retained.has(l.Invocation) {
		return nil
	}
	return k.keepLatched(ctx, l.Key(), l.Invocation,
		"belay ended before it had judged the event, and does not have it any more")
}

// keepLatched makes the latch of the invocation wait for a person, if it still waits for
// the verdict. Preconditions: the turn of k.retained is held. The error is ErrUnavailable.
func (k *Kernel) keepLatched(ctx context.Context, key wire.Session, invocation, why string) error {
	latch, err := k.options.Store.Latch(context.WithoutCancel(ctx), key)
	if err != nil || latch == nil || latch.Key() != key || latch.Ends != phases.EndsByJudging ||
		latch.Invocation != invocation {
		return err
	}
	now := k.options.Clock.Now()
	e := phases.Event{
		ID: k.options.NewID(now), Type: phases.EventLatch, Time: now, Invocation: latch.Invocation, Runtime: latch.Runtime,
		Session:        latch.Session,
		PolicyRevision: k.Revision(), Decision: DecisionLatched,
		Reason: phases.SafeText(latch.Reason+": "+why, phases.MaxReasonBytes),
		Kind:   latch.Kind, DecidedBy: latch.DecidedBy,
	}
	// always encodes
	e.Output, _ = json.Marshal(&latchOutput{Cause: latch.Why(), Event: latch.Event, Ends: phases.EndsByPerson,
		Unnamed: latch.Unnamed})
	next := LatchOf(&e)
	_, err = k.commit(ctx,
		Batch{Now: now, Events: []phases.Event{e}, ClearLatch: &key, ClearOf: latch.Invocation, Latch: &next})
	if errors.Is(err, ErrConflict) { // a person was faster
		return nil
	}
	return err
}
