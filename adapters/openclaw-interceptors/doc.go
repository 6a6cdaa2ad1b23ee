// Package openclawinterceptors is the compatibility profile of OpenClaw's interceptors, a draft: four
// events around a message, a request and a tool call, whose handlers change one output object. The
// host of such interceptors sends each call as a payload with the event's name, the session, the
// directory, and the two arguments of the handler as input and output; the answer is the output with
// what belay changes in it. No client is known that runs them: tests hold the profile to the draft.
//
// A handler of the draft that fails is passed over. Belay's answer is closed: a tool call is blocked, a
// result is withheld, and where the draft has no block (message.before, params.before) the session is
// latched, and the text of a message is replaced by the reason.
package openclawinterceptors

import "github.com/belay-hooks/belay/adapters"

// Runtime is the name that invocations of interceptors carry.
const Runtime = "openclaw-interceptors"

// New returns the translator. It has no state.
func New() adapters.Adapter { return adapter{} }

type adapter struct{}

func (adapter) Runtime() string { return Runtime }

// SessionMember implements adapters.Adapter.
func (adapter) SessionMember() string { return "session" }
