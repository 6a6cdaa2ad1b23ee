package kernel

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// ErrOverloaded is the cause of the fault of a Refusal that found no room among those that wait.
var ErrOverloaded = errors.New("too many actions wait")

// DecisionLifted is the decision of an event that ends a latch without a person.
const DecisionLifted = "lifted"

// latch adds a latch for the session of a verdict that could not be carried out.
func (k *Kernel) latch(b *Batch, verdict *phases.Event, why phases.LatchKind, ends phases.LatchEnd) {
	k.latchAs(b, verdict, latchOutput{Cause: why, Event: verdict.ID, Ends: ends, Unnamed: verdict.Session == ""})
}

// latchAs is latch with what its event says.
func (k *Kernel) latchAs(batch *Batch, verdict *phases.Event, out latchOutput) {
	event := phases.Event{
		ID: k.options.NewID(batch.Now), Type: phases.EventLatch, Time: batch.Now, Invocation: verdict.Invocation,
		Phase:   verdict.Phase,
		Runtime: verdict.Runtime,
		Session: verdict.Session, Agent: verdict.Agent, PolicyRevision: verdict.PolicyRevision, Decision: DecisionLatched,
		Reason: verdict.Reason, Kind: verdict.Kind, DecidedBy: verdict.DecidedBy,
	}
	if slices.Contains(phases.LatchKinds()[1:], out.Cause) { // a note of an older version: its latch is as it was then
		// Strings alone: they always encode.
		event.Output, _ = json.Marshal(&out)
	}
	l := LatchOf(&event)
	batch.Latch = &l
	batch.Events = append(batch.Events, event)
}

// why returns the kind of the latch that the refusal asks for.
func (r *Refusal) why() phases.LatchKind {
	if r.Why != "" {
		return r.Why
	}
	switch f := orFault(r.Fault); {
	case errors.Is(f, ErrOverloaded):
		return phases.LatchOverload
	case f.Kind == phases.KindStore, f.Kind == phases.KindRollback:
		return phases.LatchStore
	case f.Kind == phases.KindDeadline:
		return phases.LatchDeadline
	case f.Kind == phases.KindLoad:
		return phases.LatchStopped
	case f.Kind == phases.KindProtocol && r.Unread:
		return phases.LatchPayload
	}
	return phases.LatchFailure
}

// because returns the refusal for one that could not be recorded. Why it came about stays.
func (r Refusal) because(f *phases.Fault) Refusal {
	r.Why = r.why()
	r.Fault, r.Raw = f, nil
	return r
}

// of returns the refused invocations, as far as they are known and valid.
func (r *Refusal) of() []phases.Invocation {
	if len(r.Of) == 0 && !r.Unread && r.Invocation.Validate() == nil {
		return []phases.Invocation{r.Invocation}
	}
	return r.Of
}

// latchFor returns kind and end of the latch that a refusal asks for. It retains the refused
// invocations if judging them ends the latch. named holds the names as they are recorded.
func (k *Kernel) latchFor(named *phases.Invocation, r *Refusal) (phases.LatchKind, phases.LatchEnd) {
	why := r.why()
	snap := k.snapshot()
	if snap == nil {
		return why, phases.EndsByPerson
	}
	defer k.releaseSnapshot(context.Background(), snap)
	ends := snap.ends(why, r.of())
	key := wire.Session{Runtime: named.Runtime, Session: named.Session}
	if ends == phases.EndsByPerson && k.retain(snap, named.ID, key, why, r.of()) {
		ends = phases.EndsByJudging
	}
	return why, ends
}

// latchFor returns kind and end of the latch that a verdict asks for which blocked what
// could not be blocked.
func (i *invocation) latchFor(ctx context.Context, c *chain, failure error) (phases.LatchKind, phases.LatchEnd) {
	why, of := latchKind(c, failure), []phases.Invocation{i.inv}
	ends := i.snap.ends(why, of)
	if ends == phases.EndsByPerson && i.kernel.retain(i.snap, i.inv.ID, i.session, why, of) {
		ends = i.kernel.alone(ctx, &i.inv, phases.EndsByJudging)
	}
	return why, ends
}

// latchKind is the kind of the latch that a verdict asks for which came with the failure.
func latchKind(c *chain, failure error) phases.LatchKind {
	why := phases.LatchDecision
	if f := phases.FaultOf(failure); f != nil {
		switch {
		case c.fault == nil && f.Kind == phases.KindStore:
			why = phases.LatchStore
		case c.fault == nil && f.Kind == phases.KindDeadline:
			why = phases.LatchDeadline
		default:
			why = phases.LatchFailure
		}
	}
	return why
}

// ends says what ends a latch of the kind that is about the invocations.
func (s *snapshot) ends(why phases.LatchKind, of []phases.Invocation) phases.LatchEnd {
	if !why.OwnMaking() || len(of) == 0 {
		return phases.EndsByPerson
	}
	for n := range of {
		if carriesContent(of[n].Phase) || s.wouldJudge(&of[n]) {
			return phases.EndsByPerson
		}
	}
	return phases.EndsWithCause
}

// carriesContent: results and answers stay with the runtime, also when belay withheld them
// from the model.
func carriesContent(p phases.Phase) bool { return p == phases.PostTool || p == phases.PostReceive }

// wouldJudge reports whether anything could have blocked the invocation. In the audit
// phase nothing is decided: hooks redact more of a record, and a refusal records digests.
func (s *snapshot) wouldJudge(inv *phases.Invocation) bool {
	switch {
	case inv.Phase == phases.Audit:
		return false
	case s.judges != nil:
		return s.judges(inv.Phase)
	case !s.ceiling.Contains(phases.Scopes{}), !inv.Scopes.Contains(phases.Scopes{}):
		return true
	case slices.ContainsFunc(s.requireLease, func(r RequireLease) bool {
		return len(r.Phases) == 0 || slices.Contains(r.Phases, inv.Phase)
	}):
		return true
	case slices.ContainsFunc(s.require, func(r require) bool { return slices.Contains(r.phases, inv.Phase) }):
		return true
	case s.rest.decides(inv.Phase):
		return true
	}
	return slices.ContainsFunc(s.index.hooks(inv, inv.ToolNames()), func(b *binding) bool {
		return b.mode != phases.Observe
	})
}

// wouldJudgePhase is wouldJudge for an event of which only the phase is known.
func (s *snapshot) wouldJudgePhase(p phases.Phase) bool {
	if s.wouldJudge(&phases.Invocation{Phase: p}) {
		return true
	}
	for _, b := range s.bindings {
		if p != phases.Audit && b.mode != phases.Observe && (b.phases == nil || slices.Contains(b.phases, p)) {
			return true
		}
	}
	return false
}

func phasesOf(of []phases.Invocation) []phases.Phase {
	var out []phases.Phase
	for n := range of {
		out = append(out, of[n].Phase)
	}
	return out
}

// noteOf is the note of a refusal that could not be recorded; inv holds its names as they
// are recorded.
func (k *Kernel) noteOf(inv phases.Invocation, told *phases.Fault, r *Refusal) notes.Note {
	n := notes.Of(inv, told, r.latches(), k.options.Clock.Now())
	if n.Unblockable {
		n.Cause, n.Ends = k.latchFor(&inv, r)
	}
	return n
}

// noteEnds says what ends the latch that a note asks for. A note that a kernel wrote says it;
// of one that a runtime's command wrote, the configuration of now is asked.
func (s *snapshot) noteEnds(n *notes.Note) phases.LatchEnd {
	switch {
	case !n.Cause.OwnMaking(), n.Whole:
		return phases.EndsByPerson
	case n.Ends == phases.EndsWithCause, n.Ends == phases.EndsByJudging:
		return n.Ends
	case n.Ends != phases.EndsByPerson, len(n.Phases) == 0:
		return phases.EndsByPerson
	}
	for _, p := range n.Phases {
		if carriesContent(p) || s.wouldJudgePhase(p) {
			return phases.EndsByPerson
		}
	}
	return phases.EndsWithCause
}

// over says why the latch has ended, or "".
func (k *Kernel) over(l *Latch) string {
	if l.Ends != phases.EndsWithCause || l.Invocation == "" {
		return ""
	}
	return k.causeOver(l.Cause)
}

// causeOver says how a cause of belay's own making has ended, or "".
func (k *Kernel) causeOver(why phases.LatchKind) string {
	if !why.OwnMaking() {
		return ""
	}
	switch why {
	case phases.LatchOverload:
		if k.overloaded.Load() {
			return ""
		}
		return "the overload is over"
	case phases.LatchStore:
		return "the store works again"
	case phases.LatchDeadline:
		return "the event whose time was over is the only one that was refused"
	}
	return "belay runs again"
}

// liftEnded ends the latch if its cause has ended, and returns what still holds the
// session. The error is ErrConflict when it was another latch by then, or ErrUnavailable.
func (k *Kernel) liftEnded(ctx context.Context, key wire.Session, latch *Latch) (*Latch, error) {
	for latch != nil {
		why := k.over(latch)
		if why == "" {
			return latch, nil
		}
		if err := k.lift(ctx, latch, why); err != nil {
			return latch, err
		}
		if latch.Session == "" {
			return nil, nil
		}
		next, err := k.options.Store.Latch(context.WithoutCancel(ctx), wire.Session{Runtime: key.Runtime})
		if err != nil {
			return nil, err
		}
		if latch = next; latch != nil && !latch.Holds(key) {
			latch = nil
		}
	}
	return nil, nil
}

// lift ends one latch and records why. The error is ErrConflict or ErrUnavailable.
func (k *Kernel) lift(ctx context.Context, l *Latch, why string) error {
	b := Batch{Now: k.options.Clock.Now()}
	k.stageLift(&b, l, why, "")
	_, err := k.commit(ctx, b)
	return err
}

// stageLift adds the end of the latch to the batch. judged is the event of the verdict that
// ends it, if one does.
func (k *Kernel) stageLift(b *Batch, l *Latch, why, judged string) {
	key := l.Key()
	b.ClearLatch, b.ClearOf = &key, l.Invocation
	e := phases.Event{
		ID: k.options.NewID(b.Now), Type: phases.EventLatch, Time: b.Now, Invocation: l.Invocation, Runtime: l.Runtime,
		Session:        l.Session,
		PolicyRevision: k.Revision(), Decision: DecisionLifted, Reason: why, Kind: l.Kind, DecidedBy: kernelName,
	}
	// strings alone: they always encode
	e.Output, _ = json.Marshal(&liftOutput{Latch: l.ID, Cause: l.Why(), Judged: judged})
	b.Events = append(b.Events, e)
}

// liftOutput is the output of an event that lifts a latch.
type liftOutput struct {
	Latch  string           `json:"latch,omitzero"` // id of the event that latched
	Cause  phases.LatchKind `json:"cause"`
	Judged string           `json:"judged,omitzero"` // id of the verdict on the refused invocation
}

// judgeAtMost is how long liftEndedNow goes on to judge refused invocations, one by one.
const judgeAtMost = time.Second

// liftEndedNow ends the latches whose cause has ended, and records that. Of what a Retention
// retains it judges as much as it can within a second, and the rest later. The error is
// ErrUnavailable.
func (k *Kernel) liftEndedNow(ctx context.Context) error {
	return k.liftAll(ctx, judgeAtMost)
}

func (k *Kernel) liftAll(ctx context.Context, most time.Duration) error {
	if err := k.liftCauses(ctx); err != nil {
		return err
	}
	return k.judgeRetained(ctx, nil, most)
}

func (k *Kernel) liftCauses(ctx context.Context) error {
	list, err := k.options.Store.Latches(ctx)
	if err != nil {
		return err
	}
	for n := range list {
		why := k.over(&list[n])
		if list[n].Ends == phases.EndsByJudging {
			err = k.giveUp(ctx, &list[n])
		} else if why != "" {
			err = k.lift(ctx, &list[n], why)
		}
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return nil
}

// OverloadEnded tells the kernel that callers find room again. The kernel records the refusals
// that have no record yet, ends the latches of the overload, and judges all retained
// invocations. The error is ErrUnavailable.
func (k *Kernel) OverloadEnded(ctx context.Context) error {
	k.overloaded.Store(false)
	if err := k.recoverGap(ctx, k.Revision()); err != nil {
		return err
	}
	return k.liftAll(ctx, 0)
}
