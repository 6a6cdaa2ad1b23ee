// Package claudecode translates the hook events of Claude Code into belay's
// phases, and verdicts into the answers that Claude Code acts on. It decides
// nothing itself, except that what Claude Code cannot carry out becomes a block,
// or, where an event has none, a latch of the session.
//
// It never answers in a form that Claude Code was seen to ignore: an exit status
// other than 0 and 2, JSON that is cut off or names another event, continue:false
// where the tool would still run, decision:block where the output would still be
// read. docs/runtimes/claude-code.md has the whole table; testdata/measured.json
// lists what the client was seen to do (version 2.1.329), and a test holds every
// answer against it.
package claudecode

import "github.com/belay-hooks/belay/adapters"

// Runtime is the name that invocations of Claude Code carry.
const Runtime = "claude-code"

// New returns the translator. It has no state.
func New() adapters.Adapter { return adapter{} }

type adapter struct{}

func (adapter) Runtime() string { return Runtime }
