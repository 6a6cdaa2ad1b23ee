package opencode

import "github.com/belay-hooks/belay/adapters"

// Failure returns the block form of the payload's event for anything that went wrong before there
// was a verdict. It works on any bytes: the event is the one that the caller was registered for
// (opts.Event), else the one that the payload names as far as it can be read, else none. The answer
// ends with exit 2, which the plugin takes for a block whatever stands on standard output.
func (adapter) Failure(b []byte, opts adapters.Options, cause error) adapters.Answer {
	reason := adapters.Reason("", adapters.SafeReason(cause), "no decision could be made")
	event := opts.Event
	if event == "" {
		event = adapters.TextOf("event", b, opts)
	}
	info, known := events()[event]
	if !known {
		info.form = formNone
	}
	ans := blockForm(event, info, reason)
	ans.Stderr, ans.Exit, ans.Session = reason, 2, adapters.SessionOf(adapter{}, b, opts)
	return ans
}
