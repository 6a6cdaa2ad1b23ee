// Package opencode translates the hook points of OpenCode into belay's phases, and verdicts into
// what its plugin does with them. It decides nothing itself, except that what OpenCode cannot carry
// out becomes a block, or, where an event has none, a latch of the session.
//
// OpenCode calls functions of a plugin in its own process. Belay's plugin (see the folder plugin)
// sends each call as a payload: the event's name, the session, the directory, and the two arguments
// of the function as input and output. The answer says either decision block, which the plugin
// carries out by throwing, or decision allow with the changes that it makes in place: OpenCode loses
// an object that is put in the place of another. testdata/measured.json lists what the client was
// seen to do (version 1.18.33), and tests hold every answer against it.
package opencode

import "github.com/belay-hooks/belay/adapters"

// Runtime is the name that invocations of OpenCode carry.
const Runtime = "opencode"

// New returns the translator. It has no state.
func New() adapters.Adapter { return adapter{} }

type adapter struct{}

func (adapter) Runtime() string { return Runtime }

// SessionMember implements adapters.Adapter.
func (adapter) SessionMember() string { return "session" }
