package audit

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
)

// Redactor redacts secrets. It is safe for concurrent use. An error means that
// nothing of the original may be stored.
type Redactor interface {
	// JSON returns a strict JSON value, or a copy of it with secrets redacted, and
	// pointers (RFC 6901, into raw) to the redacted values.
	JSON(raw jsontext.Value) (redacted jsontext.Value, masked []string, err error)
	// Text returns the text with secrets redacted.
	Text(s string) (string, error)
}

// Limits of texts in events, in bytes.
const (
	maxReason = phases.MaxReasonBytes
	maxDetail = 4 << 10
	maxLog    = 8 << 10
	maxNote   = 1 << 10
	maxNotes  = 64
)

const hidden = "[not stored: redaction failed]"

// Remembering is a Redactor that can remember its redacted secrets. The kernel
// asks for one for each invocation, so that pieces of its secrets are redacted
// in hooks' texts, too.
type Remembering interface {
	Redactor
	// Remember returns one that knows nothing yet.
	Remember() Memory
}

// Storing is a Redactor that redacts otherwise what hooks store and read again, and names: a rule about records alone
// must not have a hook read something else than it wrote.
type Storing interface {
	// Stored returns the redactor for that, with the same memory.
	Stored() Redactor
}

// ForStored returns the redactor for what hooks store and read again.
func ForStored(r Redactor) Redactor {
	if s, ok := r.(Storing); ok {
		return s.Stored()
	}
	return r
}

// Memory is a Redactor that knows the secrets that it has redacted. It is for one
// goroutine.
type Memory = interface {
	Redactor
	// Known grows when a secret is learned that would be found elsewhere, too:
	// while it stays the same, the same document is redacted in the same way.
	Known() int
}

// Cutting is a Memory that can be told what hooks have taken out of the action, so
// that it is redacted although nothing but the hook knows it for a secret.
type Cutting interface {
	Memory
	// Removed remembers text that was cut out of an action.
	Removed(cuts []redact.Cut)
	// JSONCut is JSON for a document of which the cuts are parts.
	JSONCut(raw jsontext.Value, cuts []redact.Cut) (redacted jsontext.Value, masked []string, err error)
}

// Builder makes events out of originals. The zero value is not usable; all
// members are needed. It is safe for concurrent use.
type Builder struct {
	Redactor Redactor
	Digester Digester
	Buffers  *Buffers // in which records are measured; nil: each in one of its own
	// Fresh makes a Memory for what a hook wrote that is kept apart; nil: Redactor redacts that, too.
	Fresh Remembering
}

// Buffers are shared by builders. The zero value is ready, and safe for concurrent use.
type Buffers = eventbytes.Pool

// Invocation is what the record of a verdict says about the invocation.
type Invocation struct {
	phases.Invocation
	Checked        phases.Checked // what is known of it
	Tool           string
	PolicyRevision string
	Carried        phases.Metadata // the run's metadata as the hooks found it, stored form
}

// Turn is one turn of one hook.
type Turn struct {
	ID     string // of the event
	Report phases.HookReport
	Signer string
	Input  jsontext.Value // the document that the hook saw
	Logs   []string
	Detail string // the cause of a failure, for operators
	Apart  bool   // what the hook wrote is kept apart
}

// Record is everything that one invocation leaves behind: the events of the
// hooks' turns in the order in which they count, then the verdict's.
type Record struct {
	Hooks   []phases.Event
	Verdict phases.Event
}

// Events returns the events in the order in which they are stored. They are those of the record where it has room
// for them: the caller changes none of them.
func (r *Record) Events() []phases.Event { return append(r.Hooks, r.Verdict) }

// tool is a tool's name as it stands in events. It comes from the caller.
func (b *Builder) tool(name string) string {
	if own, known := phases.NormalizeTool("", name); known && own == name && !strings.HasPrefix(name, "mcp:") ||
		name == "" {
		return name // belay's own word
	}
	redacted, err := b.Redactor.Text(phases.SafeLine(name, phases.MaxIDBytes))
	if err != nil || redacted == hidden {
		return "unknown"
	}
	return phases.SafeLine(redacted, phases.MaxIDBytes)
}

func (b *Builder) envelope(inv *Invocation, id string, typ phases.EventType, at time.Time) phases.Event {
	return phases.Event{
		ID: id, Type: typ, Time: at, Invocation: inv.ID, Phase: inv.Phase, Runtime: inv.Runtime, Session: inv.Session,
		Agent: inv.Agent, Run: inv.Run, User: inv.User, Tool: b.tool(inv.Tool),
		PolicyRevision: inv.PolicyRevision, Traceparent: inv.Traceparent,
	}
}

// output is what came of it.
type output struct {
	Action    jsontext.Value    `json:"action,omitzero"` // only when it was changed
	Scopes    phases.Scopes     `json:"scopes"`
	Metadata  phases.Metadata   `json:"metadata,omitzero"` // only what the chain wrote
	Contexts  []string          `json:"contexts,omitzero"`
	Reply     *phases.Reply     `json:"reply,omitzero"`
	Retry     *phases.Retry     `json:"retry,omitzero"`
	Artifacts []phases.Artifact `json:"artifacts,omitzero"`
	Grant     *phases.Grant     `json:"grant,omitzero"`
}

// maxRounds is how often a record is made, each time with what the redactor has
// learned from the last one.
const maxRounds = 5

// Build makes the record of a decided invocation. With a Memory it is made
// again until nothing more is learned, so that a secret that shows itself late
// is redacted in earlier parts, too. The verdict's Masked is not read. With an
// error the record is still complete, but holds digests only; the error is a
// *phases.Fault of kind audit.
func (b *Builder) Build(in *Input, v *phases.Verdict, wrote phases.Metadata, turns []Turn, verdictID string,
	at time.Time) (rec Record, err error) {
	err = b.BuildIn(&rec, in, v, wrote, turns, verdictID, at)
	return rec, err
}

// BuildIn is Build in place.
func (b *Builder) BuildIn(rec *Record, in *Input, v *phases.Verdict, wrote phases.Metadata, turns []Turn,
	verdictID string, at time.Time) error {
	for range maxRounds {
		known := b.known()
		err := b.build(rec, in, v, wrote, turns, verdictID, at)
		if err != nil || b.known() == known {
			return err
		}
	}
	*rec = b.Digests(in, v, wrote, turns, verdictID, at)
	return phases.NewFault(phases.KindAudit, "the record could not be redacted",
		errors.New("more secrets show each time it is looked through"))
}

func (b *Builder) build(rec *Record, in *Input, v *phases.Verdict, wrote phases.Metadata, turns []Turn,
	verdictID string, at time.Time) error {
	var errs []error
	inv := in.inv
	*rec = Record{Verdict: b.envelope(inv, verdictID, phases.EventVerdict, at)}
	e := &rec.Verdict
	e.Enforced, e.Decision, e.Kind, e.DecidedBy = v.Enforced, string(v.Decision), v.Kind, v.DecidedBy
	c := &redaction{b: b, e: e}
	e.Changed = c.pointers(v.Changed)
	c.input(in)
	c.output(OutputDocument(v, wrote))
	reason := c
	if slices.ContainsFunc(turns, func(t Turn) bool { return t.Apart && t.Report.Hook == v.DecidedBy }) {
		reason = &redaction{b: b.Apart(), e: e}
	}
	e.Reason = reason.text(v.Reason, maxReason)
	e.Notes = c.texts(v.Notes, maxNote)
	if c.err == nil {
		c.err = reason.err
	}
	if c.err != nil {
		errs = append(errs, c.err)
	}
	for _, h := range v.Hooks {
		e.Fuel += h.Fuel
		e.Hostcalls += h.Hostcalls
		e.DurationUS += h.DurationUS
		e.MemoryPeak = max(e.MemoryPeak, h.MemoryPeak)
	}
	if len(turns) > 0 {
		rec.Hooks = make([]phases.Event, 0, len(turns)+1) // for the verdict's, too: see Events
	}
	rec.Hooks = rec.Hooks[:len(turns)]
	for i := range turns {
		seen := "" // hooks that saw one document have one digest of it
		if i > 0 && sameMemory(turns[i-1].Input, turns[i].Input) {
			seen = rec.Hooks[i-1].InputDigest
		}
		if err := b.turn(&rec.Hooks[i], inv, &turns[i], at, seen); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		rec.strip()
		return phases.NewFault(phases.KindAudit, "the record could not be redacted", err)
	}
	return rec.fit(b.Buffers)
}

// Digests makes the record as Build does when nothing can be redacted: it holds
// nothing that came from outside but digests. Nothing is given to the Redactor.
func (b *Builder) Digests(in *Input, v *phases.Verdict, wrote phases.Metadata, turns []Turn, verdictID string,
	at time.Time) Record {
	own := *in
	blind := &Builder{Redactor: blind{}, Digester: b.Digester}
	rec, _ := blind.Build(&own, v, wrote, turns, verdictID, at)
	rec.strip()
	return rec
}

func sameMemory(a, b []byte) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }

// Turn makes the event of one turn. With an error it holds digests only.
func (b *Builder) Turn(inv *Invocation, t *Turn, at time.Time) (e phases.Event, err error) {
	err = b.turn(&e, inv, t, at, "")
	return e, err
}

// turn is Turn in place. seen, if it is not empty, is the digest of the input.
func (b *Builder) turn(e *phases.Event, inv *Invocation, t *Turn, at time.Time, seen string) error {
	*e = b.envelope(inv, t.ID, phases.EventHook, at)
	r := &t.Report
	e.Binding, e.HookDigest, e.HookVersion, e.Tier, e.Signer = r.Hook, r.Digest, r.Version, r.Tier, t.Signer
	e.Mode, e.Pass, e.Decision, e.Kind = r.Mode, r.Pass, string(r.Decision), r.Kind
	e.Fuel, e.MemoryPeak, e.Hostcalls, e.DurationUS = r.Fuel, r.MemoryPeak, r.Hostcalls, r.DurationUS
	if r.Decision != phases.HookNone && r.Decision != phases.HookTransform && r.Decision != phases.HookError {
		e.DecidedBy = r.Hook
	}
	if t.Apart {
		b = b.Apart()
	}
	c := &redaction{b: b, e: e}
	// What a hook saw follows from the verdict's event and the turns before it;
	// the digest is enough to check that.
	if e.InputDigest = seen; seen == "" {
		e.InputDigest = b.Digester.Digest(UseInput, t.Input)
	}
	if len(r.Effects) > 0 {
		c.output(encoded(effects{c.effects(r.Effects)}))
		// The digest is of the hook's effects, not of their redacted form.
		raw, err := EffectsDocument(r.Effects)
		if err != nil {
			c.fail(err)
		}
		e.OutputDigest = b.Digester.Digest(UseOutput, raw)
	}
	e.Reason = c.text(r.Reason, maxReason)
	e.Detail = c.text(t.Detail, maxDetail)
	e.Logs = c.texts(t.Logs, maxLog)
	e.Notes = c.texts(r.Notes, maxNote)
	if c.err != nil {
		stripEvent(e)
	}
	return c.err
}

// Failure makes the event of an invocation that could not even be decoded or
// whose chain could not be run: its reason, and a digest of what came in.
func (b *Builder) Failure(inv *Invocation, v *phases.Verdict, raw []byte, id string, at time.Time) phases.Event {
	e := b.envelope(inv, id, phases.EventFailure, at)
	e.Decision, e.Kind, e.DecidedBy, e.Enforced = string(v.Decision), v.Kind, v.DecidedBy, v.Enforced
	e.Reason = (&redaction{b: b, e: &e}).text(v.Reason, maxReason)
	e.InputDigest = b.Digester.Digest(UseInput, raw)
	return e
}
