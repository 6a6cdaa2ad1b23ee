// Package codex translates the hook events of Codex CLI into belay's phases, and
// verdicts into the answers that Codex acts on. It decides nothing itself, except
// that what Codex cannot carry out becomes a block, or, where an event has none, a
// latch of the session.
//
// It never answers in a form that Codex was seen to ignore: an unknown member (each
// output object is closed, and one member too many undoes a deny), an empty reason,
// permissionDecision ask, continue:false where the tool would still run, a rewrite
// without a permission. docs/runtimes/codex.md has the whole table;
// testdata/measured.json lists what the client was seen to do (version 0.169.0), and
// tests hold every answer against it and against Codex's own schemas.
package codex

import "github.com/belay-hooks/belay/adapters"

// Runtime is the name that invocations of Codex carry.
const Runtime = "codex"

// New returns the translator. It has no state.
func New() adapters.Adapter { return adapter{} }

type adapter struct{}

func (adapter) Runtime() string { return Runtime }

// SessionMember implements adapters.Adapter.
func (adapter) SessionMember() string { return "session_id" }
