package audit

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// The documents that nearly every record has are encoded by hand, byte for byte as the JSON library would with
// deterministic output: digests are of these bytes. What is unusual is left to the library.

func encoded(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

func (in *input) encoded() ([]byte, error) {
	d := payload{out: make([]byte, 0, len(in.Action)+256+in.metadataBytes()), ok: true, strict: in.strict}
	if in.strict && in.compact {
		d.out = append(append(d.out, `{"action":`...), in.Action...)
	} else {
		d.value(`{"action":`, in.Action)
	}
	if in.CWD != "" {
		d.text(`,"cwd":`, in.CWD)
	}
	d.scopes(`,"scopes":`, in.Scopes)
	if in.Metadata != nil {
		d.values(`,"metadata":`, in.Metadata)
	}
	if d.strict = false; in.Carried != nil {
		d.metadata(`,"carried":`, in.Carried)
	}
	d.time(`,"time":`, in.Time)
	if !in.Reported.IsZero() {
		d.time(`,"reported_time":`, in.Reported)
	}
	if !d.ok {
		all := *in
		return encoded(&all)
	}
	return append(d.out, '}'), nil
}

// metadataBytes is about how long the metadata is.
func (in *input) metadataBytes() (n int) {
	for key, value := range in.Metadata {
		n += len(key) + len(value) + 4
	}
	for key, entry := range in.Carried {
		n += len(key) + len(entry.Value) + len(entry.Hook) + 64
	}
	return n
}

func (o *output) encoded() ([]byte, error) {
	d := payload{out: make([]byte, 0, len(o.Action)+128), ok: true}
	if o.Action != nil {
		d.value(`{"action":`, o.Action)
		d.scopes(`,"scopes":`, o.Scopes)
	} else {
		d.scopes(`{"scopes":`, o.Scopes)
	}
	if o.Metadata != nil {
		d.metadata(`,"metadata":`, o.Metadata)
	}
	if o.Contexts != nil {
		d.list(`,"contexts":`, o.Contexts)
	}
	d.ok = d.ok && o.Reply == nil && o.Retry == nil && len(o.Artifacts) == 0 && o.Grant == nil
	if o.Artifacts != nil {
		d.out = append(d.out, `,"artifacts":[]`...)
	}
	if !d.ok {
		all := *o
		return encoded(&all)
	}
	return append(d.out, '}'), nil
}

// payload appends members while it can tell what the library would write.
type payload struct {
	out    []byte
	ok     bool
	strict bool // values were checked before
}

func (d *payload) text(name, s string) {
	d.out = append(d.out, name...)
	d.quote(s)
}

func (d *payload) quote(s string) {
	var err error
	d.out, err = jsontext.AppendQuote(d.out, s)
	d.ok = d.ok && err == nil
}

func (d *payload) list(name string, list []string) {
	d.out = append(append(d.out, name...), '[')
	for i, s := range list {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.quote(s)
	}
	d.out = append(d.out, ']')
}

func (d *payload) time(name string, t time.Time) {
	if year := t.Year(); t.Location() != time.UTC || year < 0 || year > 9999 {
		d.ok = false
		return
	}
	d.out = append(append(d.out, name...), '"')
	d.out = append(t.AppendFormat(d.out, time.RFC3339Nano), '"')
}

func (d *payload) scopes(name string, s phases.Scopes) {
	d.out = append(append(d.out, name...), '{')
	first := true
	for _, one := range [...]struct {
		name string
		list phases.Scope
	}{{`"fs_read":`, s.FSRead}, {`"fs_write":`, s.FSWrite}, {`"net":`, s.Net}, {`"tools":`, s.Tools}} {
		if one.list == nil {
			continue
		}
		if !first {
			d.out = append(d.out, ',')
		}
		first = false
		d.list(one.name, one.list)
	}
	d.out = append(d.out, '}')
}

// values appends the caller's metadata.
func (d *payload) values(name string, md map[string]jsontext.Value) {
	d.out = append(append(d.out, name...), '{')
	var room [8]string
	for i, key := range sorted(d, room[:0], md) {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		d.quote(key)
		d.value(":", md[key])
	}
	d.out = append(d.out, '}')
}

// metadata appends a run's.
func (d *payload) metadata(name string, md phases.Metadata) {
	d.out = append(append(d.out, name...), '{')
	var room [8]string
	for i, key := range sorted(d, room[:0], md) {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		entry := md[key]
		d.quote(key)
		d.value(`:{"value":`, entry.Value)
		d.text(`,"hook":`, entry.Hook)
		d.text(`,"tier":`, string(entry.Tier))
		d.out = append(d.out, '}')
	}
	d.out = append(d.out, '}')
}

// value appends a value as the library writes it: without white space, and with strings in their shortest spelling.
func (d *payload) value(name string, v jsontext.Value) {
	if !d.ok || !d.strict && !phases.IsStrict(v) { // the library says what is wrong with it
		d.ok = false
		return
	}
	d.out = append(d.out, name...)
	for len(v) > 0 {
		n := 1
		switch c := v[0]; {
		case c == '"':
			n = d.string(v)
		case c > ' ':
			for n < len(v) && v[n] > ' ' && v[n] != '"' {
				n++
			}
			d.out = append(d.out, v[:n]...)
		}
		v = v[n:]
	}
}

// string appends the string with which v begins, and returns its length there.
func (d *payload) string(v []byte) int {
	end, shortest := phases.StringLen(v)
	if shortest {
		d.out = append(d.out, v[:end]...)
	} else {
		d.quote(phases.Unquote(v[:end]))
	}
	return end
}

// sorted appends the names of the map in order. The order of others than those of ASCII is the library's to know.
func sorted[V any](d *payload, names []string, md map[string]V) []string {
	for name := range md {
		names = append(names, name)
		for i := range len(name) {
			d.ok = d.ok && name[i] < utf8.RuneSelf
		}
	}
	slices.Sort(names)
	return names
}
