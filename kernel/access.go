package kernel

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Access is something about a caller, and not about an action that it asks for.
type Access struct {
	Decision string // wire.AccessRefused and its like
	Reason   string // for people
	User     string // by name; "" where it is not known

	Invocation, Runtime, Session string // of the question that it was about; "" for none
	Facts                        wire.Access
}

// NoteAccess logs who came to the daemon. Names and reason are redacted. The error is ErrUnavailable or ErrClosed.
func (k *Kernel) NoteAccess(ctx context.Context, a Access) error {
	now := k.options.Clock.Now()
	named := k.namesOnly(phases.Invocation{ID: a.Invocation, Runtime: a.Runtime, Session: a.Session, User: a.User}, now)
	if a.Invocation == "" {
		named.ID = ""
	}
	return k.note(ctx, phases.Event{Type: phases.EventAccess, Invocation: named.ID, Runtime: named.Runtime,
		Session: named.Session, User: named.User, Decision: a.Decision, Reason: a.Reason}, &a.Facts)
}

// Decisions of notices about the daemon of system mode.
const (
	DecisionStarted     = "started"
	DecisionStopped     = "stopped"
	DecisionBelieved    = "believed"     // system.yaml is in force as it is
	DecisionNotBelieved = "not_believed" // it cannot be believed: every caller is refused
)

// MachineNote is the output of such a notice.
type MachineNote struct {
	Version  string `json:"version,omitzero"`  // of the program
	PID      int    `json:"pid,omitzero"`      // of the daemon
	Revision string `json:"revision,omitzero"` // sha256:<hex> of system.yaml
	Before   string `json:"before,omitzero"`   // of the one that was in force before
}

// NoteMachine logs how the daemon of system mode stands. Decision is one of those above, reason is redacted. The error
// is ErrUnavailable or ErrClosed.
func (k *Kernel) NoteMachine(ctx context.Context, decision, reason string, n MachineNote) error {
	return k.note(ctx, phases.Event{Type: phases.EventNotice, Decision: decision, Reason: reason}, &n)
}

// note commits one event, behind what could not be recorded before.
func (k *Kernel) note(ctx context.Context, e phases.Event, output any) error {
	s := k.snapshot()
	if s == nil {
		return ErrClosed
	}
	err := k.recoverGap(ctx, s.revision)
	var out jsontext.Value
	if err == nil {
		out, err = json.Marshal(output)
	}
	if err == nil {
		now := k.options.Clock.Now()
		e.ID, e.Time, e.PolicyRevision, e.DecidedBy, e.Output = k.options.NewID(now), now, s.revision, kernelName, out
		e.Reason = phases.SafeText(k.redactText(e.Reason), phases.MaxReasonBytes)
		_, err = k.commit(ctx, Batch{Now: now, Events: []phases.Event{e}})
	}
	return errors.Join(err, s.release())
}
