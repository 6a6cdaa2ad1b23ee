// Package eventbytes reads and writes the stored form of events: the JSON that is a leaf of
// the log. It gives the same answers as the JSON library does for phases.Event, at a fraction
// of the cost, and leaves to it whatever does not look as belay writes it.
package eventbytes

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Head decodes the members that are texts, and the number and the time: those by which events
// are found, and those that say what an event is. It leaves Input, Output, the lists and the
// other numbers empty, but an error is returned for each body that does not decode as a whole.
// Whatever e held before is gone.
func Head(body []byte, e *phases.Event) error { return HeadAfter(body, e, e) }

// HeadAfter is Head for one event after the other: texts that are those of the event before are not made anew.
func HeadAfter(body []byte, e, before *phases.Event) error {
	*e = phases.Event{}
	if head(body, e, before) {
		return nil
	}
	*e = phases.Event{}
	if err := json.Unmarshal(body, e); err != nil {
		return err
	}
	e.Input, e.Output, e.Masked, e.Changed, e.Logs, e.Notes = nil, nil, nil, nil, nil, nil
	e.Fuel, e.MemoryPeak, e.Hostcalls, e.DurationUS = 0, 0, 0, 0
	return nil
}

// The forms that a member of an event has.
type form int

const (
	aNumber form = iota // a whole number that is not below 0
	aText
	aTime
	aList // of texts
	aValue
)

// member is one member of the stored form.
type member struct {
	name string // with quotes and colon
	form form
	text func(e *phases.Event) *string // of texts that Head decodes
}

// members are all members in the order in which they are written.
var members = [...]member{
	{`"seq":`, aNumber, nil},
	{`"restrictions":`, aText, func(e *phases.Event) *string { return &e.Restrictions }},
	{`"shared":`, aText, func(e *phases.Event) *string { return &e.Shared }},
	{`"id":`, aText, func(e *phases.Event) *string { return &e.ID }},
	{`"type":`, aText, func(e *phases.Event) *string { return (*string)(&e.Type) }},
	{`"time":`, aTime, nil},
	{`"invocation":`, aText, func(e *phases.Event) *string { return &e.Invocation }},
	{`"phase":`, aText, func(e *phases.Event) *string { return (*string)(&e.Phase) }},
	{`"runtime":`, aText, func(e *phases.Event) *string { return &e.Runtime }},
	{`"session":`, aText, func(e *phases.Event) *string { return &e.Session }},
	{`"agent":`, aText, func(e *phases.Event) *string { return &e.Agent }},
	{`"run":`, aText, func(e *phases.Event) *string { return &e.Run }},
	{`"user":`, aText, func(e *phases.Event) *string { return &e.User }},
	{`"tool":`, aText, func(e *phases.Event) *string { return &e.Tool }},
	{`"binding":`, aText, func(e *phases.Event) *string { return &e.Binding }},
	{`"hook_digest":`, aText, func(e *phases.Event) *string { return &e.HookDigest }},
	{`"hook_version":`, aText, func(e *phases.Event) *string { return &e.HookVersion }},
	{`"tier":`, aText, func(e *phases.Event) *string { return (*string)(&e.Tier) }},
	{`"signer":`, aText, func(e *phases.Event) *string { return &e.Signer }},
	{`"mode":`, aText, func(e *phases.Event) *string { return (*string)(&e.Mode) }},
	{`"pass":`, aText, func(e *phases.Event) *string { return (*string)(&e.Pass) }},
	{`"policy_revision":`, aText, func(e *phases.Event) *string { return &e.PolicyRevision }},
	{`"enforced":`, aText, func(e *phases.Event) *string { return (*string)(&e.Enforced) }},
	{`"decision":`, aText, func(e *phases.Event) *string { return &e.Decision }},
	{`"reason":`, aText, func(e *phases.Event) *string { return &e.Reason }},
	{`"kind":`, aText, func(e *phases.Event) *string { return (*string)(&e.Kind) }},
	{`"decided_by":`, aText, func(e *phases.Event) *string { return &e.DecidedBy }},
	{`"input":`, aValue, nil},
	{`"output":`, aValue, nil},
	{`"input_digest":`, aText, func(e *phases.Event) *string { return &e.InputDigest }},
	{`"output_digest":`, aText, func(e *phases.Event) *string { return &e.OutputDigest }},
	{`"masked":`, aList, nil},
	{`"changed":`, aList, nil},
	{`"detail":`, aText, func(e *phases.Event) *string { return &e.Detail }},
	{`"logs":`, aList, nil},
	{`"notes":`, aList, nil},
	{`"fuel":`, aNumber, nil},
	{`"memory_peak":`, aNumber, nil},
	{`"hostcalls":`, aNumber, nil},
	{`"duration_us":`, aNumber, nil},
	{`"intent":`, aText, func(e *phases.Event) *string { return &e.Intent }},
	{`"traceparent":`, aText, func(e *phases.Event) *string { return &e.Traceparent }},
	{`"seed":`, aText, func(e *phases.Event) *string { return &e.Seed }},
}

// head reads a body that is written as belay writes it. False means that the caller has
// the library read it, which is always right.
func head(body []byte, e, before *phases.Event) bool {
	if len(body) < 2 || body[0] != '{' {
		return false
	}
	rest := body[1:]
	for i := range members {
		m := &members[i]
		after, ok := bytes.CutPrefix(rest, []byte(m.name))
		if !ok {
			continue
		}
		if rest, ok = m.read(after, e, before, i == 0); !ok || len(rest) == 0 {
			return false
		}
		if rest[0] == '}' {
			return len(rest) == 1
		}
		if rest[0] != ',' {
			return false
		}
		rest = rest[1:]
	}
	return false
}

// read reads the value at the beginning of b and returns what follows.
func (m *member) read(b []byte, e, before *phases.Event, isSeq bool) (rest []byte, ok bool) {
	switch m.form {
	case aNumber:
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		v, err := strconv.ParseInt(string(b[:n]), 10, 64)
		if err != nil {
			return nil, false
		}
		if isSeq {
			e.Seq = v
		}
		return b[n:], n == 1 || b[0] != '0'
	case aText:
		end, plain := textEnd(b)
		if end == 0 {
			return nil, false
		}
		if !plain {
			text, err := jsontext.AppendUnquote(nil, b[:end])
			*m.text(e) = string(text)
			return b[end:], err == nil
		}
		if was := *m.text(before); was == string(b[1:end-1]) {
			*m.text(e) = was
		} else {
			*m.text(e) = string(b[1 : end-1])
		}
		return b[end:], true
	case aTime:
		end, plain := textEnd(b)
		if end == 0 || !plain || b[end-2] != 'Z' {
			return nil, false
		}
		text := b[1 : end-1]
		var again [len(time.RFC3339Nano) + 8]byte
		if e.Time.UnmarshalText(text) != nil || !bytes.Equal(e.Time.AppendFormat(again[:0], time.RFC3339Nano), text) {
			return nil, false // the library is stricter than package time
		}
		return b[end:], true
	case aList:
		return list(b)
	default:
		n := value(b, 0)
		return b[n:], n > 0
	}
}

func list(b []byte) (rest []byte, ok bool) {
	if len(b) < 2 || b[0] != '[' {
		return nil, false
	}
	if b[1] == ']' {
		return b[2:], true
	}
	for b = b[1:]; ; b = b[1:] {
		end, _ := textEnd(b)
		if end == 0 || end == len(b) {
			return nil, false
		}
		b = b[end:]
		if b[0] == ']' {
			return b[1:], true
		}
		if b[0] != ',' {
			return nil, false
		}
	}
}
