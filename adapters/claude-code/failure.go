package claudecode

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
)

// Failure returns the block form of the payload's event for anything that went
// wrong before there was a verdict. It works on any bytes: the event is the one
// that the caller was registered for (opts.Event), else the one that the payload
// names as far as it can be read, else none, and then exit 2 with a reason is
// what blocks most. Where both count, JSON and exit 2 say the same, so that
// neither a truncated stdout nor a lost status lets anything through.
func (adapter) Failure(b []byte, opts adapters.Options, cause error) adapters.Answer {
	reason := adapters.Reason("", adapters.SafeReason(cause), "no decision could be made")
	text := func(member string) string { return adapters.TextOf(member, b, opts) }
	event, session := opts.Event, adapters.SessionOf(adapter{}, b, opts)
	if event == "" {
		event = text("hook_event_name")
	}
	info, known := events()[event]
	if !known {
		return adapters.Answer{Stderr: reason, Exit: 2, Latch: reason, Session: session}
	}
	ans := blockForm(event, info, reason, response(b), payload.Quote(text("tool_name")))
	if event == "ConfigChange" && text("source") == "policy_settings" {
		ans.Latch = reason
	}
	ans.Stderr, ans.Session = reason, session
	ans.GoesOnAt2 = info.form == formStop
	switch info.form {
	case formStop, formOutput, formToolError: // exit 2 means go on, or leaves the output readable
	default:
		ans.Exit = 2
	}
	return payload.OneLine(ans)
}

// SessionMember implements adapters.Adapter.
func (adapter) SessionMember() string { return "session_id" }

// response returns the tool's response as far as it can be read: nil where it stands behind a fault, or
// behind the part of a payload that was kept.
func response(b []byte) jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		return nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		wanted := name.String() == "tool_response"
		v, err := dec.ReadValue()
		switch {
		case err != nil:
			return nil
		case wanted:
			return v.Clone()
		}
	}
	return nil
}
