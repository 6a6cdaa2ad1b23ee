package retention

import (
	"log/slog"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// Policy is the section recordings of belay.yaml: which full inputs are retained, where,
// for whom, and within which bounds.
type Policy struct {
	Dir         string         // absolute, not below the state directory
	Recipients  []string       // age1…; none: Plaintext
	Plaintext   bool           // UNSAFE: each reader of the files can read the inputs
	Phases      []phases.Phase // none: all
	Tools       string         // RE2, unanchored, of phases that are about tools; "": all
	Rotate      time.Duration  // a file is ended after about so long
	RotateBytes int64          // and at this size
	Keep        time.Duration  // older files are removed
	MaxBytes    int64          // of all files in Dir; the oldest are removed
	Block       bool           // while no input can be retained, no action is decided

	Logger *slog.Logger
	// Notice logs a sentence as an event. It may take as long as a commit.
	Notice func(text string)

	// Calm is the time by which recordings are old: a jump ahead of the clock does not
	// move it. Nil means the wall clock.
	Calm func() time.Time
}

// State says how a Recorder stands.
type State struct {
	Err   error     // why no input can be retained now; nil: it can
	Since time.Time // since when it cannot, as far as this process knows
	Kept  int64     // invocations, by this process
	Lost  int64     // that could not be retained, by this process
	Files int       // in the directory
	Cut   int       // of them, without an end: a process ended while it wrote
	Bytes int64     // of all of them
}

// An Error is a policy that a Recorder cannot follow. Pointer is a place in it (RFC
// 6901, below recordings), such as /recipients/0.
type Error struct {
	Pointer string
	Text    string
}

func (e *Error) Error() string { return e.Text }
