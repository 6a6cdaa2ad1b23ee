package claudecode

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
)

// Failure returns the block form of the payload's event for anything that went
// wrong before there was a verdict. It works on any bytes: the event is the one
// that the caller was registered for (opts.Event), else the one that the payload
// names as far as it can be read, else none, and then exit 2 with a reason is
// what blocks most. Where both count, JSON and exit 2 say the same, so that
// neither a truncated stdout nor a lost status lets anything through.
func (adapter) Failure(b []byte, opts adapters.Options, cause error) adapters.Answer {
	reason := adapters.Reason("", adapters.SafeReason(cause), "no decision could be made")
	seen, session := peek(b), adapters.SessionOf(adapter{}, b, opts)
	event := opts.Event
	if event == "" {
		event = seen.event
	}
	info, known := events[event]
	if !known {
		return adapters.Answer{Stderr: reason, Exit: 2, Latch: reason, Session: session}
	}
	ans := blockForm(event, info, reason, seen.response, seen.tool)
	if seen.policySettings && event == "ConfigChange" {
		ans.Latch = reason
	}
	ans.Stderr, ans.Session = reason, session
	ans.GoesOnAt2 = info.form == formStop
	switch info.form {
	case formStop, formOutput, formToolError: // exit 2 means go on, or leaves the output readable
	default:
		ans.Exit = 2
	}
	return oneLine(ans)
}

// glimpse is what can be told about a payload that may be anything.
type glimpse struct {
	event          string
	policySettings bool
	tool, response jsontext.Value
}

// SessionMember implements adapters.Adapter.
func (adapter) SessionMember() string { return "session_id" }

// peek reads top-level members up to the first fault. An event that is named
// twice is no event.
func peek(b []byte) (g glimpse) {
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		return g
	}
	if _, err := dec.ReadToken(); err != nil {
		return g
	}
	seen := map[string]bool{}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return g
		}
		name := tok.String()
		if name == "hook_event_name" && seen[name] {
			g.event = ""
			return g
		}
		first := !seen[name]
		seen[name] = true
		v, err := dec.ReadValue()
		if err != nil {
			return g
		}
		if !first {
			continue
		}
		switch name {
		case "hook_event_name":
			g.event, _ = stringOf(v)
		case "source":
			s, _ := stringOf(v)
			g.policySettings = s == "policy_settings"
		case "tool_name":
			g.tool = v.Clone()
		case "tool_response":
			g.response = v.Clone()
		}
	}
	return g
}
