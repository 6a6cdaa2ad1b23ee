// Package cursor translates the hook events of Cursor into belay's phases, and verdicts into the
// answers that are described for Cursor. It decides nothing itself, except that what Cursor cannot
// carry out becomes a block, or, where an event has none, a latch of the session.
//
// It was never run against Cursor: payloads and answers are those of a description by third parties
// (version 3.9.16, testdata/events). Where that leaves a doubt, the answer is the one that lets less
// through. docs/runtimes/cursor.md has the whole table.
package cursor

import "github.com/belay-hooks/belay/adapters"

// Runtime is the name that invocations of Cursor carry.
const Runtime = "cursor"

// New returns the translator. It has no state.
func New() adapters.Adapter { return adapter{} }

type adapter struct{}

func (adapter) Runtime() string { return Runtime }

// SessionMember implements adapters.Adapter.
func (adapter) SessionMember() string { return "session_id" }
