package reconcile

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Verdict is what belay decided about one call, as an event tells.
type Verdict struct {
	Seq      int64
	At       time.Time
	ID       string // the runtime's id of the call; "" where it tells none
	Tool     string // as the runtime calls it
	Agent    string // as the event names it
	CWD      string
	Blocked  bool
	Asked    jsontext.Value // the arguments as they came, redacted
	Released jsontext.Value // as belay changed them; nil: it changed nothing
	Blind    bool           // the event does not hold what was asked
}

// verdictOf reads an event of phase pre_tool. ok is false for one that is of another event of the runtime
// than the one that decides calls, or of a command that is no call.
func verdictOf(e *phases.Event, deciding string, ids bool) (v Verdict, ok bool) {
	v = Verdict{Seq: e.Seq, At: e.Time, Agent: e.Agent, Blocked: e.Decision != string(phases.Allow) &&
		e.Enforced != phases.EnforcedDelegated}
	action, have := phases.Get(e.Input, "/action")
	if !have {
		v.Blind = true
		return v, true
	}
	if event, told := phases.GetString(e.Input, "/metadata/event"); told && event != deciding {
		return v, false
	}
	v.ID, _ = phases.GetString(action, "/call_id")
	if v.ID == "" && ids {
		return v, false // a command in a file that a call loads
	}
	v.CWD, _ = phases.GetString(e.Input, "/cwd")
	if v.Tool, _ = phases.GetString(action, "/native_tool"); v.Tool == "" {
		v.Tool, _ = phases.GetString(action, "/tool")
	}
	v.Asked, _ = phases.Get(action, "/args")
	if v.Asked == nil {
		v.Blind = true
	}
	v.Released, _ = phases.Get(e.Output, "/action/args")
	return v, true
}
