package audit

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
)

// input is the payload of a verdict event: with it and the hooks, the chain can
// be run again.
type input struct {
	Action   jsontext.Value            `json:"action"`
	CWD      string                    `json:"cwd,omitzero"`
	Scopes   phases.Scopes             `json:"scopes"`
	Metadata map[string]jsontext.Value `json:"metadata,omitzero"`      // the caller's
	Carried  phases.Metadata           `json:"carried,omitzero"`       // the run's, before the chain
	Time     time.Time                 `json:"time"`                   // what hooks read as the time
	Reported time.Time                 `json:"reported_time,omitzero"` // what the caller said

	strict  bool // Action and Metadata are known to be strict JSON
	compact bool // Action is known to be what value makes of it
}

// Input is what one attempt at an invocation came in with. It is redacted when that
// is first needed, which may be long before there is a record, and kept for the
// record. What comes of the action later is not in it. It is for one goroutine, and
// its Invocation is not changed any more.
type Input struct {
	inv      *Invocation
	cuts     []redact.Cut // pointers into the document
	redacted bool
	known    int // what the redactor knew before it redacted this

	value  jsontext.Value
	digest string
	masked []string // pointers into the event
	err    error    // the value must not be stored
}

// Begin makes it the Input of an attempt at the invocation; nothing of an earlier one stays.
func (in *Input) Begin(inv *Invocation) { *in = Input{inv: inv} }

// NewInput returns an Input that is not redacted yet.
func NewInput(inv *Invocation) *Input { return &Input{inv: inv} }

// Invocation returns what the Input was made of.
func (in *Input) Invocation() *Invocation { return in.inv }

// Redact redacts the input unless that has been done, so that a Memory knows its
// secrets. That it cannot be redacted is found by Build.
func (b *Builder) Redact(in *Input) {
	if in.redacted {
		return
	}
	in.redacted, in.known = true, b.known()
	raw, err := InputDocument(in.inv)
	if err != nil {
		in.err = err
		return
	}
	in.digest = b.Digester.Digest(UseInput, raw)
	redacted, masked, err := b.redactCut(raw, in.cuts)
	if err != nil {
		in.err = err
		return
	}
	in.value = redacted
	for _, m := range masked {
		in.masked = append(in.masked, "/input"+m)
	}
}

// known says how much the redactor keeps in mind.
func (b *Builder) known() int {
	if m, ok := b.Redactor.(Memory); ok {
		return m.Known()
	}
	return 0
}

// input takes the input into the event. A redactor that has learned since then,
// also from the input itself, may find more in it.
func (c *redaction) input(in *Input) {
	if in.redacted && in.known != c.b.known() {
		*in = Input{inv: in.inv, cuts: in.cuts}
	}
	c.b.Redact(in)
	c.e.Input, c.e.InputDigest = in.value, in.digest
	c.e.Masked = append(c.e.Masked, in.masked...)
	if in.err != nil {
		c.fail(in.err)
	}
}
