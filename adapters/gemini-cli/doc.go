// Package geminicli translates the hook events of Gemini CLI into belay's phases, and
// verdicts into the answers that Gemini CLI acts on. It decides nothing itself, except
// that what Gemini CLI cannot carry out becomes a block, or, where an event has none, a
// latch of the session.
//
// It never answers in a form that Gemini CLI was seen to ignore: exit 2 without a reason,
// an exit status other than 0 and 2, a question (a headless run never ends), a decision
// `allow` (at BeforeModel it undoes the deny of another hook), a changed call without one
// of its arguments (the client merges). docs/runtimes/gemini-cli.md has the whole table;
// testdata/measured.json lists what the client was seen to do (version 0.61.0), and
// tests hold every answer against it.
package geminicli

import "github.com/belay-hooks/belay/adapters"

// Runtime is the name that invocations of Gemini CLI carry.
const Runtime = "gemini-cli"

// New returns the translator. It has no state.
func New() adapters.Adapter { return adapter{} }

type adapter struct{}

func (adapter) Runtime() string { return Runtime }

// SessionMember implements adapters.Adapter.
func (adapter) SessionMember() string { return "session_id" }
