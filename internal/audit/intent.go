package audit

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Asker is the hook on whose behalf something happens outside of belay.
type Asker struct {
	Binding, Digest, Version, Signer string
	Tier                             phases.Tier
}

// Intent makes the event that announces a call. Its id is the intent's. action,
// an object with the members tool and args, is redacted like any action. With
// an error, a *phases.Fault of kind audit, nothing may happen.
func (b *Builder) Intent(inv *Invocation, by Asker, action jsontext.Value, id string,
	at time.Time) (phases.Event, error) {
	e := b.intent(inv, by, phases.EventIntent, id, id, at)
	c := &redaction{b: b, e: &e}
	raw, err := encoded(intentInput{Action: action})
	e.Input = c.value(raw, err, &e.InputDigest, UseInput, "/input")
	if c.err != nil {
		return e, phases.NewFault(phases.KindAudit, "what was about to happen could not be recorded", c.err)
	}
	return e, nil
}

// IntentOf makes the same event of a record that was redacted already, with the
// action that the record's verdict lets pass.
func (b *Builder) IntentOf(inv *Invocation, by Asker, r *Record, id string, at time.Time) phases.Event {
	e := b.intent(inv, by, phases.EventIntent, id, id, at)
	covered, ok := phases.Get(r.Verdict.Output, "/action")
	e.InputDigest = r.Verdict.OutputDigest
	from := "/output/action"
	if !ok {
		covered, ok = phases.Get(r.Verdict.Input, "/action")
		e.InputDigest, from = r.Verdict.InputDigest, "/input/action"
	}
	if !ok {
		e.Notes = []string{"the action is in the digests only"}
		return e
	}
	raw, err := json.Marshal(intentInput{Action: covered})
	if err != nil {
		e.Notes = []string{"the action is in the digests only"}
		return e
	}
	e.Input = raw
	for _, m := range r.Verdict.Masked {
		if rest, ok := strings.CutPrefix(m, from); ok {
			e.Masked = append(e.Masked, "/input/action"+rest)
		}
	}
	return e
}

// Outcome makes the event that says what came of an intent. result stands there as a
// digest, summary (nil for none) redacted. With an error, a *phases.Fault of kind audit,
// the event holds digests only and can be stored all the same.
func (b *Builder) Outcome(inv *Invocation, by Asker, intent, decision, reason string, result, summary jsontext.Value,
	took time.Duration, id string, at time.Time) (phases.Event, error) {
	e := b.intent(inv, by, phases.EventOutcome, intent, id, at)
	e.Decision, e.DurationUS = decision, took.Microseconds()
	c := &redaction{b: b, e: &e}
	if summary != nil {
		c.output(encoded(summary))
	}
	if result != nil {
		e.OutputDigest = b.Digester.Digest(UseOutput, result)
	}
	e.Reason = c.text(reason, maxReason)
	if c.err != nil {
		stripEvent(&e)
		return e, phases.NewFault(phases.KindAudit, "what came of it could not be recorded", c.err)
	}
	return e, nil
}

func (b *Builder) intent(inv *Invocation, by Asker, typ phases.EventType, intent, id string,
	at time.Time) phases.Event {
	e := b.envelope(inv, id, typ, at)
	e.Intent = intent
	e.Binding, e.HookDigest, e.HookVersion, e.Tier, e.Signer = by.Binding, by.Digest, by.Version, by.Tier, by.Signer
	return e
}

type intentInput struct {
	Action jsontext.Value `json:"action"`
}
