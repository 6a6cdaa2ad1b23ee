package hookcmd

import (
	"context"
	"path/filepath"
	"time"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// Answered is a daemon's answer to one payload, or the answer without a daemon.
type Answered struct {
	Answer   adapters.Answer  // for the runtime; valid whatever happened
	Verdicts []phases.Verdict // in order
	Err      error            // a *phases.Fault: why the daemon has not answered; nil when it has
}

// Daemon brings a runtime's own payload to a daemon and returns its answer for that runtime.
// Of the options it passes on Event and Headless.
type Daemon interface {
	Ask(ctx context.Context, runtime string, payload []byte, o adapters.Options) (Answered, error)
}

// Decider is a Daemon, or what stands in for one, that answers one payload.
type Decider interface {
	Daemon
	Close()
}

// Refuser is a Decider that records by itself why a payload was not read as a whole.
type Refuser interface {
	Refuse(ctx context.Context, ad adapters.Adapter, payload []byte, o adapters.Options, f *phases.Fault) Answered
}

// Ask brings a payload to the daemon that serves dir, "" when that is out of
// reach, and waits no longer than the event's deadline. If the daemon does not answer as it
// should, Ask returns the event's block form and word leaves a note in the
// spool. The daemon may not have recorded the action, so the note latches the
// session of an event that cannot be blocked.
func Ask(ctx context.Context, d Daemon, dir string, ad adapters.Adapter, payload []byte, o adapters.Options,
	word *LastWord) Answered {
	return askWithin(ctx, ad.Table().Deadline(o.Event), d, dir, ad, payload, o, word)
}

func askWithin(ctx context.Context, patience time.Duration, d Daemon, dir string, ad adapters.Adapter,
	payload []byte, o adapters.Options, word *LastWord) Answered {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := d.Ask(ctx, ad.Runtime(), payload, o)
	if err != nil {
		return refuse(word, dir, ad, payload, o, phases.NewFault(phases.KindLoad, "the daemon could not be asked", err))
	}
	return a
}

// causeOf says why a latch is asked for, and for which phases: who takes the note up knows
// whether a hook would have judged them.
func causeOf(f *phases.Fault, ad adapters.Adapter, payload []byte,
	o adapters.Options) (phases.LatchKind, []phases.Phase) {
	of, err := adapters.Invocations(ad, payload, o)
	switch {
	case err != nil:
		return phases.LatchPayload, nil
	case f.Kind != phases.KindLoad && f.Kind != phases.KindDeadline:
		// belay failed, or read something else than its payload
		return phases.LatchFailure, nil
	}
	var ps []phases.Phase
	for i := range of {
		ps = append(ps, of[i].Phase)
	}
	if f.Kind == phases.KindDeadline {
		return phases.LatchDeadline, ps
	}
	return phases.LatchStopped, ps
}

// refuse answers in the event's block form and leaves a note of it in dir, unless that is "".
func refuse(word *LastWord, dir string, ad adapters.Adapter, payload []byte, o adapters.Options,
	f *phases.Fault) Answered {
	out := Answered{Answer: ad.Failure(payload, o, f), Err: f}
	if dir == "" {
		return out
	}
	if err := word.Note(func() error { return leaveNote(dir, ad, payload, out.Answer, o, f) }); err != nil {
		out.Answer.Notes = append(out.Answer.Notes, "this block is not logged: "+safe(err.Error()))
	}
	return out
}

// leaveNote notes in dir that the event got this answer, and why.
func leaveNote(dir string, ad adapters.Adapter, payload []byte, a adapters.Answer, o adapters.Options,
	f *phases.Fault) error {
	inv := phases.Invocation{Runtime: ad.Runtime(), Session: a.Session}
	n := notes.Of(inv, f, o.NeedsLatch(a) && inv.Session != "", time.Now())
	if n.Unblockable {
		n.Cause, n.Phases = causeOf(f, ad, payload, o)
	}
	return notes.Append(filepath.Join(dir, notes.SpoolName), n)
}
