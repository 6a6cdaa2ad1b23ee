package wire

import (
	"strings"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// Latch is a session in which everything that can be blocked is, or what Scope says.
type Latch struct {
	Runtime    string      `json:"runtime"`
	Session    string      `json:"session"`
	Reason     string      `json:"reason"`
	Kind       phases.Kind `json:"kind"` // of the verdict
	DecidedBy  string      `json:"decided_by"`
	Invocation string      `json:"invocation"` // the invocation that could not be blocked
	Since      time.Time   `json:"since"`

	ID    string           `json:"id,omitzero"`    // of the event that latched; "" in latches of older versions
	Cause phases.LatchKind `json:"cause"`          // the kind of the latch
	Event string           `json:"event,omitzero"` // id of the refusal or verdict; "" when it was not recorded
	Scope string           `json:"scope"`          // session, unnamed (what names no session) or runtime (all)
	Ends  phases.LatchEnd  `json:"ends,omitzero"`  // what ends it beside a person
}

// Session names a session of a runtime. With Session "" it names what a latch without a session
// holds: see Latch.Scope.
type Session struct {
	Runtime string `json:"runtime"`
	Session string `json:"session"`
}

// ClearCommand is the command that clears the latch of the session.
func (s Session) ClearCommand() string {
	line := "belay latch clear " + shellWord(s.Runtime)
	if s.Session != "" {
		line += " " + shellWord(s.Session)
	}
	return line
}

// shellWord writes a name so that a shell takes it as one word.
func shellWord(name string) string {
	name = phases.SafeLine(name, phases.MaxIDBytes)
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-_.:/@", r)
	}
	if name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
