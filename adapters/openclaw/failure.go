package openclaw

import (
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// Failure returns the block form of the payload's hook for anything that went wrong before there was
// a verdict. It works on any bytes: the hook is the one that the caller was registered for
// (opts.Event), else the one that the payload names as far as it can be read, else none. The answer
// ends with exit 2, which the plugin takes for a block whatever stands on standard output.
func (adapter) Failure(b []byte, opts adapters.Options, cause error) adapters.Answer {
	reason := adapters.Reason("", adapters.SafeReason(cause), "no decision could be made")
	hook := opts.Event
	if hook == "" {
		hook = adapters.TextOf("hook", b, opts)
	}
	message, _ := phases.Get(b, "/event/message")
	ans := blockForm(hook, message, reason)
	ans.Stderr, ans.Exit, ans.Session = reason, 2, adapters.SessionOf(adapter{}, b, opts)
	return ans
}
