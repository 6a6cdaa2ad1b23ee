package cursor

import "github.com/belay-hooks/belay/adapters"

// Failure returns the block form of the payload's event for anything that went wrong before there
// was a verdict. It works on any bytes: the event is the one that the caller was registered for
// (opts.Event), else the one that the payload names as far as it can be read. Without an event it is
// exit 2 with a reason, and the session is latched. An answer that is cut off on its way is a failed
// hook, which `failClosed` makes a block.
func (adapter) Failure(b []byte, opts adapters.Options, cause error) adapters.Answer {
	reason := adapters.Reason("", adapters.SafeReason(cause), "no decision could be made")
	session := adapters.SessionOf(adapter{}, b, opts)
	event := opts.Event
	if event == "" {
		event = adapters.TextOf("hook_event_name", b, opts)
	}
	info, known := events()[event]
	if !known {
		return adapters.Answer{Stderr: reason, Exit: 2, Latch: reason, Session: session}
	}
	ans := blockForm(info, reason)
	ans.Session = session
	return ans
}
