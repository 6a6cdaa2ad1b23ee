package codex

import (
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
)

// Failure returns the block form of the payload's event for anything that went wrong before there
// was a verdict. It works on any bytes: the event is the one that the caller was registered for
// (opts.Event), else the one that the payload names as far as it can be read, else none, and then
// exit 2 with a reason is what blocks most. Where both count, JSON and exit 2 say the same: with exit
// 2 Codex reads standard error alone, so that a truncated stdout lets nothing through.
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
	ans := blockForm(event, info, reason)
	ans.Stderr, ans.Session = reason, session
	ans.GoesOnAt2 = info.form == formStop
	switch info.form {
	case formToolDeny, formPermission, formDecision:
		ans.Exit = 2
	}
	return payload.OneLine(ans)
}
