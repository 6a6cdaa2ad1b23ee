// Package openclaw translates the hooks of OpenClaw's plugins into belay's phases, and verdicts into
// what a hook returns there. It decides nothing itself, except that what OpenClaw cannot carry out
// becomes a block, or, where a hook has none, a latch of the session.
//
// OpenClaw calls functions of a plugin in its own process. Belay's plugin (see the folder plugin)
// sends each call as a payload: the hook's name, the session, the directory, and the two arguments
// of the function as event and ctx. The answer says decision block or decision allow; its one change
// at the path "" is the value that the plugin returns to OpenClaw. testdata/measured.json lists what
// the client was seen to do (version 2026.9.6), and tests hold every answer against it.
package openclaw

import "github.com/belay-hooks/belay/adapters"

// Runtime is the name that invocations of OpenClaw carry.
const Runtime = "openclaw"

// New returns the translator. It has no state.
func New() adapters.Adapter { return adapter{} }

type adapter struct{}

func (adapter) Runtime() string { return Runtime }

// SessionMember implements adapters.Adapter.
func (adapter) SessionMember() string { return "session" }
