package audit

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Redactor covers secrets. It is safe for concurrent use. An error means that
// nothing of the original may be stored.
type Redactor interface {
	// JSON returns a copy of a strict JSON value with secrets covered, and
	// pointers (RFC 6901, into raw) to what was covered.
	JSON(raw jsontext.Value) (covered jsontext.Value, masked []string, err error)
	// Text returns the text with secrets covered.
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

// Remembering is a Redactor that can keep in mind what it has covered. The kernel
// asks for one for each invocation, so that pieces of its secrets are covered in
// what hooks say, too.
type Remembering interface {
	Redactor
	// Remember returns one that knows nothing yet.
	Remember() Memory
}

// Memory is a Redactor that knows the secrets that it has covered. It is for one
// goroutine.
type Memory interface {
	Redactor
	// Known grows when a secret is learned that would be found elsewhere, too:
	// while it stays the same, the same document is covered in the same way.
	Known() int
}

// Builder makes events out of originals. The zero value is not usable; all
// members are needed. It is safe for concurrent use.
type Builder struct {
	Redactor Redactor
	Digester Digester
}

// Invocation is what the record of a verdict says about the invocation.
type Invocation struct {
	phases.Invocation
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
}

// Record is everything that one invocation leaves behind: the events of the
// hooks' turns in the order in which they count, then the verdict's.
type Record struct {
	Hooks   []phases.Event
	Verdict phases.Event
}

// Events returns the events in the order in which they are stored.
func (r *Record) Events() []phases.Event {
	return append(slices.Clone(r.Hooks), r.Verdict)
}

func (b *Builder) envelope(inv *Invocation, id string, typ phases.EventType, at time.Time) phases.Event {
	return phases.Event{
		ID: id, Type: typ, Time: at, Invocation: inv.ID, Phase: inv.Phase, Runtime: inv.Runtime, Session: inv.Session,
		Agent: inv.Agent, Run: inv.Run, User: inv.User, Tool: phases.SafeLine(inv.Tool, phases.MaxIDBytes),
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

// Build makes the record of a decided invocation. The verdict's Masked is not
// read. With an error the record is still complete, but holds digests only; the
// error is a *phases.Fault of kind audit.
func (b *Builder) Build(in *Input, v *phases.Verdict, wrote phases.Metadata, turns []Turn, verdictID string, at time.Time) (Record, error) {
	var errs []error
	inv := in.inv
	rec := Record{Verdict: b.envelope(inv, verdictID, phases.EventVerdict, at)}
	e := &rec.Verdict
	e.Enforced, e.Decision, e.Kind, e.DecidedBy = v.Enforced, string(v.Decision), v.Kind, v.DecidedBy
	c := &cover{b: b, e: e}
	e.Changed = c.pointers(v.Changed)
	c.input(in)
	c.output(outputOf(v, wrote))
	e.Reason = c.text(v.Reason, maxReason)
	e.Notes = c.texts(v.Notes, maxNote)
	errs = append(errs, c.err)
	for _, h := range v.Hooks {
		e.Fuel += h.Fuel
		e.Hostcalls += h.Hostcalls
		e.DurationUS += h.DurationUS
		e.MemoryPeak = max(e.MemoryPeak, h.MemoryPeak)
	}
	for i := range turns {
		ev, err := b.Turn(inv, &turns[i], at)
		rec.Hooks = append(rec.Hooks, ev)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		rec.strip()
		return rec, phases.NewFault(phases.KindAudit, "the record could not be redacted", err)
	}
	return rec, rec.fit()
}

// Digests makes the record as Build does when nothing can be covered: it holds
// nothing that came from outside but digests. Nothing is given to the Redactor.
func (b *Builder) Digests(in *Input, v *phases.Verdict, wrote phases.Metadata, turns []Turn, verdictID string, at time.Time) Record {
	own := *in
	blind := &Builder{Redactor: blind{}, Digester: b.Digester}
	rec, _ := blind.Build(&own, v, wrote, turns, verdictID, at)
	rec.strip()
	return rec
}

// blind covers everything, whatever it is.
type blind struct{}

func (blind) JSON(jsontext.Value) (jsontext.Value, []string, error) { return nil, nil, nil }
func (blind) Text(string) (string, error)                           { return hidden, nil }

// Turn makes the event of one turn. With an error it holds digests only.
func (b *Builder) Turn(inv *Invocation, t *Turn, at time.Time) (phases.Event, error) {
	e := b.envelope(inv, t.ID, phases.EventHook, at)
	r := &t.Report
	e.Binding, e.HookDigest, e.HookVersion, e.Tier, e.Signer = r.Hook, r.Digest, r.Version, r.Tier, t.Signer
	e.Mode, e.Pass, e.Decision, e.Kind = r.Mode, r.Pass, string(r.Decision), r.Kind
	e.Fuel, e.MemoryPeak, e.Hostcalls, e.DurationUS = r.Fuel, r.MemoryPeak, r.Hostcalls, r.DurationUS
	if r.Decision != phases.HookNone && r.Decision != phases.HookTransform && r.Decision != phases.HookError {
		e.DecidedBy = r.Hook
	}
	c := &cover{b: b, e: &e}
	// What a hook saw follows from the verdict's event and the turns before it;
	// the digest is enough to check that.
	e.InputDigest = b.Digester.Digest(UseInput, t.Input)
	if len(r.Effects) > 0 {
		c.output(effects{c.effects(r.Effects)})
		// The digest is of what the hook asked for, not of what is left to read.
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
		stripEvent(&e)
	}
	return e, c.err
}

// maxDocument and maxDepth keep the record small enough to be shown to audit
// hooks inside an input document: what they cannot see is not stored.
const (
	maxDocument = phases.MaxInputBytes - 16<<10
	maxDepth    = phases.MaxInputDepth - 2
)

// fit drops payloads until the record is small enough, the largest kind first
// among those that can be computed again. Their digests stay.
func (r *Record) fit() error {
	const note = "not stored: the record would be too large"
	drops := []func(){
		func() {
			for i := range r.Hooks {
				drop(&r.Hooks[i], &r.Hooks[i].Output, "/output", note)
			}
		},
		func() { drop(&r.Verdict, &r.Verdict.Output, "/output", note) },
		func() { drop(&r.Verdict, &r.Verdict.Input, "/input", note) },
		func() {
			for i := range r.Hooks {
				r.Hooks[i].Logs, r.Hooks[i].Notes = nil, []string{note}
			}
		},
	}
	for {
		doc, err := r.Document()
		if err != nil {
			return err
		}
		if len(doc) <= maxDocument && shallow(doc) {
			return nil
		}
		if len(drops) == 0 {
			return phases.NewFault(phases.KindAudit, "the record is too large", nil)
		}
		drops[0]()
		drops = drops[1:]
	}
}

func drop(e *phases.Event, member *jsontext.Value, at, note string) {
	if *member == nil {
		return
	}
	*member = nil
	e.Notes = append(e.Notes, at[1:]+" "+note)
	e.Masked = slices.DeleteFunc(e.Masked, func(m string) bool { return phases.Covers(at, m) })
	e.Masked = append(e.Masked, at)
}

// shallow reports whether values nest no deeper than maxDepth.
func shallow(doc []byte) bool {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			for i++; doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}

// Failure makes the event of an invocation that could not even be decoded or
// whose chain could not be run: its reason, and a digest of what came in.
func (b *Builder) Failure(inv *Invocation, v *phases.Verdict, raw []byte, id string, at time.Time) phases.Event {
	e := b.envelope(inv, id, phases.EventFailure, at)
	e.Decision, e.Kind, e.DecidedBy, e.Enforced = string(v.Decision), v.Kind, v.DecidedBy, v.Enforced
	e.Reason = (&cover{b: b, e: &e}).text(v.Reason, maxReason)
	e.InputDigest = b.Digester.Digest(UseInput, raw)
	return e
}

type effects struct {
	Effects []phases.Effect `json:"effects"`
}

// cover redacts the members of one event and remembers the first error.
type cover struct {
	b   *Builder
	e   *phases.Event
	err error
}

func (c *cover) value(v any, digest *string, use Use, at string) jsontext.Value {
	raw, err := encoded(v)
	if err != nil {
		c.fail(err)
		return nil
	}
	*digest = c.b.Digester.Digest(use, raw)
	covered, masked, err := c.b.Redactor.JSON(raw)
	if err != nil {
		c.fail(err)
		return nil
	}
	for _, m := range masked {
		c.e.Masked = append(c.e.Masked, at+m)
	}
	return covered
}

func (c *cover) output(v any) { c.e.Output = c.value(v, &c.e.OutputDigest, UseOutput, "/output") }

// effects covers the values of rewrites in the place where they would stand: a
// name or a mask that makes a value secret in the action does so in the effect.
func (c *cover) effects(list []phases.Effect) []phases.Effect {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Kind != phases.EffectRewrite || out[i].Value == nil || phases.CheckPointer(out[i].Path) != nil {
			continue
		}
		placed, err := place(out[i].Path, out[i].Value)
		if err != nil {
			c.fail(err)
			return nil
		}
		covered, masked, err := c.b.Redactor.JSON(placed)
		if err != nil {
			c.fail(err)
			return nil
		}
		if len(masked) == 0 {
			continue
		}
		// A mask may have covered a member above: then there is nothing left at the path.
		v, ok := phases.Get(covered, "/action"+out[i].Path)
		if !ok {
			v = jsontext.Value(`"[redacted]"`)
		}
		out[i].Value = v
		c.e.Masked = append(c.e.Masked, "/output/effects/"+strconv.Itoa(i)+"/value")
	}
	return out
}

// place returns {"action": …} with the value where the pointer says.
func place(ptr string, value jsontext.Value) (jsontext.Value, error) {
	var tokens []string
	if ptr != "" {
		tokens = strings.Split(ptr, "/")[1:]
	}
	v := value
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i := len(tokens) - 1; i >= 0; i-- {
		next, err := json.Marshal(map[string]jsontext.Value{unescape.Replace(tokens[i]): v})
		if err != nil {
			return nil, err
		}
		v = next
	}
	return json.Marshal(map[string]jsontext.Value{"action": v})
}

// text covers first and cleans after: a secret split by characters that cleaning
// drops would otherwise be put together again behind the redactor's back, so
// cleaned text is covered once more when cleaning changed it.
func (c *cover) text(s string, limit int) string {
	if s == "" {
		return ""
	}
	covered, err := c.b.Redactor.Text(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		c.fail(err)
		return hidden
	}
	clean := phases.SafeText(covered, limit)
	if clean == covered {
		return clean
	}
	if covered, err = c.b.Redactor.Text(clean); err != nil {
		c.fail(err)
		return hidden
	}
	return phases.SafeText(covered, limit)
}

func (c *cover) texts(in []string, limit int) []string {
	var out []string
	for i, s := range in {
		if i == maxNotes {
			out = append(out, strconv.Itoa(len(in)-i)+" more are not stored")
			break
		}
		out = append(out, c.text(s, limit))
	}
	return out
}

// pointers covers names of members as they are covered where the members stand.
func (c *cover) pointers(in []string) []string {
	out := slices.Clone(in)
	for i, ptr := range in {
		covered, err := c.b.Redactor.Text(ptr)
		if err != nil {
			c.fail(err)
			return nil
		}
		out[i] = covered
	}
	return out
}

func (c *cover) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (r *Record) strip() {
	stripEvent(&r.Verdict)
	for i := range r.Hooks {
		stripEvent(&r.Hooks[i])
	}
}

func stripEvent(e *phases.Event) {
	e.Input, e.Output, e.Masked, e.Logs, e.Detail, e.Changed = nil, nil, nil, nil, "", nil
	if e.Reason != "" {
		e.Reason = hidden
	}
	e.Notes = []string{"redaction failed: digests only"}
}
