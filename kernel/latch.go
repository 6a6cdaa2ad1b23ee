package kernel

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Latch stands for a block that came where nothing could be blocked: until it ends, every
// blockable event that it holds is denied.
type Latch struct {
	Runtime    string      `json:"runtime"`
	Session    string      `json:"session"` // "": none, or all of the runtime; see Scope
	Reason     string      `json:"reason"`
	Kind       phases.Kind `json:"kind"` // of the verdict
	DecidedBy  string      `json:"decided_by"`
	Invocation string      `json:"invocation"` // the invocation that could not be blocked
	Since      time.Time   `json:"since"`

	// The members below are empty in latches of versions that did not record them.

	ID    string           `json:"id,omitzero"`    // of the event that latched
	Cause phases.LatchKind `json:"cause,omitzero"` // see Why
	Event string           `json:"event,omitzero"` // id of the refusal or verdict; "" when it was not recorded
	Ends  phases.LatchEnd  `json:"ends,omitzero"`  //
	// Session is "": it holds events that name no session, and no others
	Unnamed bool `json:"unnamed,omitzero"`

	// Told is what denial returns if it is not "": recordings of older versions do not say
	// which latch denied. It is not stored.
	Told string `json:"-"`
}

// Key names the session that is latched.
func (l *Latch) Key() wire.Session { return wire.Session{Runtime: l.Runtime, Session: l.Session} }

// Why returns the kind of the latch.
func (l *Latch) Why() phases.LatchKind {
	if l.Cause == "" {
		return phases.LatchUnknown
	}
	return l.Cause
}

// Scope says what the latch holds: "session", "unnamed" (events of the runtime that name
// no session) or "runtime" (all of them; made by older versions, and where there was no space
// to note which sessions had to be held).
func (l *Latch) Scope() string {
	switch {
	case l.Session != "":
		return "session"
	case l.Unnamed:
		return "unnamed"
	}
	return "runtime"
}

// Holds reports whether events of the session are denied by the latch.
func (l *Latch) Holds(key wire.Session) bool {
	return l.Runtime == key.Runtime && (l.Session == key.Session || l.Session == "" && !l.Unnamed)
}

// Replaces reports whether the latch takes the place of one that holds the same session.
// The first one stays, unless the later one ends harder: what a hook decided is not freed
// by the end of an overload. Of two that end by judging the later one stays, since events
// are judged in their order.
// One that holds all of a runtime never gives way to one that holds what names no session.
func (l *Latch) Replaces(old *Latch) bool {
	if old != nil && l.wholeRuntime() != old.wholeRuntime() {
		return l.wholeRuntime()
	}
	return old == nil || l.rank() > old.rank() || l.rank() == old.rank() && l.Ends == phases.EndsByJudging
}

func (l *Latch) wholeRuntime() bool { return l.Session == "" && !l.Unnamed }

func (l *Latch) rank() int {
	switch l.Ends {
	case phases.EndsWithCause:
		return 1
	case phases.EndsByJudging:
		return 2
	}
	return 3 // an unknown end counts as the hardest
}

// EndsItself reports whether the latch is that of the invocation and something but a
// person may end it; see Batch.ClearOf.
func (l *Latch) EndsItself(invocation string) bool {
	return l.Invocation == invocation && (l.Ends == phases.EndsWithCause || l.Ends == phases.EndsByJudging)
}

// denial is the reason with which events are denied: that of the latch, which latch it is,
// and the command that clears it.
func (l *Latch) denial() string {
	if l.Told != "" {
		return l.Told
	}
	which := "latch"
	if l.ID != "" {
		which += " " + l.ID
	}
	which += fmt.Sprintf(" of kind %s since %s", l.Why(), l.Since.UTC().Format(time.RFC3339))
	switch {
	case l.Event != "":
		which += ", event " + l.Event
	case l.Invocation != "":
		which += ", invocation " + phases.SafeLine(l.Invocation, 36)
	}
	tail := " (" + which + "; `" + l.Key().ClearCommand() + "` clears it)"
	return phases.SafeText(l.Reason, phases.MaxReasonBytes-len(tail)) + tail
}

// latchOutput is the output of an event that latches.
type latchOutput struct {
	Cause   phases.LatchKind `json:"cause"`
	Event   string           `json:"event,omitzero"`
	Ends    phases.LatchEnd  `json:"ends,omitzero"`
	Unnamed bool             `json:"unnamed,omitzero"`
}

// LatchOf returns the latch that an event of type latch with DecisionLatched sets. An
// output that does not decode makes a latch that a person has to clear.
func LatchOf(e *phases.Event) Latch {
	l := Latch{
		Runtime: e.Runtime, Session: e.Session, Reason: e.Reason, Kind: e.Kind,
		DecidedBy: e.DecidedBy, Invocation: e.Invocation, Since: e.Time.UTC(),
	}
	var o latchOutput
	if len(e.Output) > 0 && json.Unmarshal(e.Output, &o, json.RejectUnknownMembers(true)) == nil {
		l.ID, l.Cause, l.Event, l.Ends, l.Unnamed = e.ID, o.Cause, o.Event, o.Ends, o.Unnamed
	}
	return l
}

// onWire returns the latch in its wire form, with cause and scope filled in, whichever version
// made it.
func (l *Latch) onWire() wire.Latch {
	return wire.Latch{Runtime: l.Runtime, Session: l.Session, Reason: l.Reason, Kind: l.Kind, DecidedBy: l.DecidedBy,
		Invocation: l.Invocation, Since: l.Since, ID: l.ID, Cause: l.Why(), Event: l.Event, Scope: l.Scope(), Ends: l.Ends}
}

// LatchesOnWire returns the latches as they are told. The slice is never nil.
func LatchesOnWire(list []Latch) []wire.Latch {
	out := make([]wire.Latch, len(list))
	for n := range list {
		out[n] = list[n].onWire()
	}
	return out
}
