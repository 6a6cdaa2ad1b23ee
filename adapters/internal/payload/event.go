package payload

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// EventOf returns the event that a member of the payload names, and what the adapter knows of it. It refuses an event
// that the adapter does not know, and another one than belay was registered for. Errors of p name the event from there
// on.
func EventOf[I any](p *Payload, member string, events map[string]I, opts adapters.Options) (event string, info I,
	err error) {
	event = p.Name(member)
	if p.Err() != nil {
		return "", info, p.Err()
	}
	p.Named(event)
	info, known := events[event]
	refusal := &adapters.PayloadError{Event: event, Member: "/" + member}
	switch {
	case !known:
		refusal.Class, refusal.Reason = adapters.ErrUnknownEvent, "belay does not know this event"
	case opts.Event != "" && opts.Event != event:
		refusal.Class, refusal.Reason = adapters.ErrPayload, "this is not the event that belay was registered for"
	default:
		return event, info, nil
	}
	return "", info, refusal
}

// MaxOmittedBytes bounds the list of members that are left out of metadata: no name is added behind it.
const MaxOmittedBytes = 1 << 10

// Metadata is the event's name and the members that no action holds: at most so many bytes of them, and the names of
// the rest.
func (p *Payload) Metadata(most int) map[string]jsontext.Value {
	out := map[string]jsontext.Value{"event": Quote(p.event)}
	kept, omitted := p.Rest(most, MaxOmittedBytes)
	if kept != nil {
		out["payload"] = kept
	}
	if omitted != nil {
		out["omitted"] = omitted
	}
	return out
}

// Weigh reads the payload of an event once more, and weighs the verdicts about it. The event is none of the adapter's
// if it is not known.
func Weigh(ev adapters.Event, verdicts []phases.Verdict, table adapters.Table, known bool) (*Payload,
	*adapters.Outcome, error) {
	p, err := Parse(ev.Payload, max(table.Limit(ev.Options), len(ev.Payload)))
	if !known || err != nil {
		return nil, nil, &adapters.PayloadError{Class: adapters.ErrVerdicts, Event: ev.Name,
			Reason: "the event was not decoded"}
	}
	o, err := table.Weigh(ev, verdicts)
	return p, o, err
}

// Respawn is the spawn step of a call whose arguments have become others.
func Respawn(spawn adapters.Step, action, args jsontext.Value) adapters.Step {
	spawn.Invocation.Action = action
	if spawn.Call != nil {
		told := *spawn.Call
		told.Args = args
		spawn.Call = &told
	}
	return spawn
}

// OneLine takes the line breaks of the payload's own formatting out of an answer, in place.
func OneLine(ans adapters.Answer) adapters.Answer {
	v := jsontext.Value(ans.Stdout)
	if len(v) > 0 && v.Compact() == nil {
		ans.Stdout = v
	}
	return ans
}
