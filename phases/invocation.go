package phases

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Invocation is one call of the kernel for one phase. DecodeInvocation and
// EncodeInvocation are its wire form; Validate is for one that was built in Go.
//
// Action is the phase's payload as the caller's own bytes: a hook that asks for
// a raw value gets the source bytes, and a rewrite touches only the value that it names.
// It has been checked against the phase's typed form (see DecodeAction).
//
// Time is a claim on the way in: the caller's time, or zero. The
// kernel keeps the claim as ReportedTime and sets Time to its own clock, so that
// no caller moves the time that hooks decide by.
type Invocation struct {
	ID          string // UUIDv7; the kernel makes one when it is empty
	Phase       Phase
	Runtime     string // the agent runtime's name, such as "claude-code"; ≤ 64 bytes
	Session     string // ≤ 256 bytes
	Agent       string // ≤ 256 bytes
	Run         string // one user turn; metadata lives as long as the run; ≤ 256 bytes
	User        string // ≤ 256 bytes
	CWD         string // absolute path of the agent's working directory, or empty
	Action      jsontext.Value
	Scopes      Scopes
	Metadata    map[string]jsontext.Value // what the caller sends; hooks read it as /metadata/caller/*
	Time        time.Time                 // see below
	Traceparent string                    // W3C trace context, or empty

	// ReportedTime is the time that the caller gave; zero when it gave none. It is no
	// member of the wire form, where the same is "time".
	ReportedTime time.Time
}

// RunKey names the bag of metadata that is carried along a run.
type RunKey struct {
	Runtime, Session, Run string
}

// RunKey returns the key of the run that the invocation belongs to.
func (inv *Invocation) RunKey() RunKey {
	return RunKey{Runtime: inv.Runtime, Session: inv.Session, Run: inv.Run}
}

// Entry is one metadata value with the hook that wrote it: a hook of a lower
// tier cannot overwrite what a higher one has written.
type Entry struct {
	Value jsontext.Value `json:"value"`
	Hook  string         `json:"hook"`
	Tier  Tier           `json:"tier"`
}

// Metadata is the bag carried along a run: ≤ 64 keys, ≤ 64 KiB.
type Metadata map[string]Entry
