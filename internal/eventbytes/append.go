package eventbytes

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Append appends the stored form of an event to dst: byte for byte what the JSON library makes
// of it with deterministic output. The error is the library's; then dst is returned as it was.
func Append(dst []byte, e *phases.Event) ([]byte, error) {
	if out, ok := appendEvent(dst, e); ok {
		return append(out, '}'), nil
	}
	rare := *e // the library keeps its argument: the caller's event does not leave the stack for it
	b, err := json.Marshal(&rare, json.Deterministic(true))
	if err != nil {
		return dst, err
	}
	return append(dst, b...), nil
}

// AppendRecord appends the stored form of a verdict with one member more, hooks: the events of
// its turns.
func AppendRecord(dst []byte, verdict *phases.Event, hooks []phases.Event) ([]byte, error) {
	before := len(dst)
	dst, err := Append(dst, verdict)
	if err == nil {
		dst = append(dst[:len(dst)-1], `,"hooks":[`...)
		for i := range hooks {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = Append(dst, &hooks[i]); err != nil {
				break
			}
		}
	}
	if err != nil {
		return dst[:before], err
	}
	return append(dst, "]}"...), nil
}

// usualRest is about how many bytes an event has beside Input and Output.
const usualRest = 2 << 10

// appendEvent appends all but the last brace; false: the library has to do it.
func appendEvent(dst []byte, e *phases.Event) (_ []byte, ok bool) {
	if large := len(e.Input) + len(e.Output); large > cap(dst)-len(dst) { // what is large is copied once
		dst = slices.Grow(dst, large+usualRest)
	}
	w := writer{out: append(dst, '{'), ok: true}
	w.out = strconv.AppendInt(append(w.out, `"seq":`...), e.Seq, 10)
	w.text(`,"restrictions":`, e.Restrictions)
	w.text(`,"shared":`, e.Shared)
	w.always(`,"id":`, e.ID)
	w.always(`,"type":`, string(e.Type))
	w.time(`,"time":`, e.Time)
	w.text(`,"invocation":`, e.Invocation)
	w.text(`,"phase":`, string(e.Phase))
	w.text(`,"runtime":`, e.Runtime)
	w.text(`,"session":`, e.Session)
	w.text(`,"agent":`, e.Agent)
	w.text(`,"run":`, e.Run)
	w.text(`,"user":`, e.User)
	w.text(`,"tool":`, e.Tool)
	w.text(`,"binding":`, e.Binding)
	w.text(`,"hook_digest":`, e.HookDigest)
	w.text(`,"hook_version":`, e.HookVersion)
	w.text(`,"tier":`, string(e.Tier))
	w.text(`,"signer":`, e.Signer)
	w.text(`,"mode":`, string(e.Mode))
	w.text(`,"pass":`, string(e.Pass))
	w.text(`,"policy_revision":`, e.PolicyRevision)
	w.text(`,"enforced":`, string(e.Enforced))
	w.text(`,"decision":`, e.Decision)
	w.text(`,"reason":`, e.Reason)
	w.text(`,"kind":`, string(e.Kind))
	w.text(`,"decided_by":`, e.DecidedBy)
	w.value(`,"input":`, e.Input)
	w.value(`,"output":`, e.Output)
	w.text(`,"input_digest":`, e.InputDigest)
	w.text(`,"output_digest":`, e.OutputDigest)
	w.list(`,"masked":`, e.Masked)
	w.list(`,"changed":`, e.Changed)
	w.text(`,"detail":`, e.Detail)
	w.list(`,"logs":`, e.Logs)
	w.list(`,"notes":`, e.Notes)
	w.number(`,"fuel":`, e.Fuel)
	w.number(`,"memory_peak":`, e.MemoryPeak)
	w.number(`,"hostcalls":`, int64(e.Hostcalls))
	w.number(`,"duration_us":`, e.DurationUS)
	w.text(`,"intent":`, e.Intent)
	w.text(`,"traceparent":`, e.Traceparent)
	w.text(`,"seed":`, e.Seed)
	return w.out, w.ok
}

// writer appends members while it can tell what the library would write.
type writer struct {
	out []byte
	ok  bool
}

// text appends a member that is left out when it is empty.
func (w *writer) text(name, s string) {
	if s != "" {
		w.always(name, s)
	}
}

func (w *writer) always(name, s string) {
	w.out = append(w.out, name...)
	w.quote(s)
}

func (w *writer) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			var err error
			w.out, err = jsontext.AppendQuote(w.out, s)
			w.ok = w.ok && err == nil
			return
		}
	}
	w.out = append(append(append(w.out, '"'), s...), '"')
}

func (w *writer) time(name string, t time.Time) {
	if year := t.Year(); t.Location() != time.UTC || year < 0 || year > 9999 {
		w.ok = false
		return
	}
	w.out = append(append(w.out, name...), '"')
	w.out = append(t.AppendFormat(w.out, time.RFC3339Nano), '"')
}

func (w *writer) number(name string, n int64) {
	if n != 0 {
		w.out = strconv.AppendInt(append(w.out, name...), n, 10)
	}
}

func (w *writer) list(name string, list []string) {
	if list == nil {
		return
	}
	w.out = append(append(w.out, name...), '[')
	for i, s := range list {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.quote(s)
	}
	w.out = append(w.out, ']')
}

// value appends a value as it is, if the library would leave it as it is.
func (w *writer) value(name string, v jsontext.Value) {
	if v == nil {
		return
	}
	w.ok = w.ok && value(v, 0) == len(v) && len(v) > 0 && shortEscapes(v)
	w.out = append(append(w.out, name...), v...)
}

// shortEscapes reports whether all escapes are those that the library writes for the same text,
// as far as that can be told without reading on.
func shortEscapes(v []byte) bool {
	for {
		i := bytes.IndexByte(v, '\\')
		if i < 0 {
			return true
		}
		if c := v[i+1]; c == '/' || !isSimpleEscape(c) {
			return false
		}
		v = v[i+2:]
	}
}

// maxPooled is the largest buffer, in bytes, that is kept for the next event.
const maxPooled = 256 << 10

// Pool lends buffers in which events are encoded. The zero value is ready, and safe for
// concurrent use; nil makes a new one each time.
type Pool struct{ pool sync.Pool }

// Get lends an empty buffer.
func (p *Pool) Get() []byte {
	if p != nil {
		if b, ok := p.pool.Get().(*[]byte); ok {
			return (*b)[:0]
		}
	}
	return make([]byte, 0, 4096)
}

// Put takes a buffer back. The caller must not use it, or a part of it, any more.
func (p *Pool) Put(b []byte) {
	if p != nil && cap(b) <= maxPooled {
		p.pool.Put(&b)
	}
}
