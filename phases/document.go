package phases

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const timeFormat = time.RFC3339Nano

// Document builds the input document that a hook sees. It is flat: the members
// of the action stand at the root beside the members of the envelope (phase, id,
// runtime, session, agent, run, user, cwd, time, reported_time, scopes, metadata),
// so that the pointer which a hook reads is the pointer which it rewrites. Members of the
// action keep their source bytes. Empty members of the envelope are left out;
// scopes always has its four members, in normal form.
//
// Of a tool call whose tool's name does not say where its command or its files stand, judged has
// JSON Pointers to them: {"as"?: names, "commands"?, "code"?, "paths"?: pointers, "foreign"?: true,
// "more"?: true}.
//
// Metadata of earlier hooks is at /metadata/KEY/value (beside hook and tier),
// the caller's at /metadata/caller/KEY. What hooks wrote that are kept apart is not
// in the document, nor are credential headers of pre_send.
func Document(inv Invocation, metadata Metadata) (jsontext.Value, error) {
	var judged jsontext.Value
	if tool := inv.Tool(); tool != "" {
		j := inv.judge(tool)
		judged = j.document()
	}
	return document(inv, metadata, judged, false)
}

// document is Document for a hook that is kept apart, or for another one.
func document(inv Invocation, metadata Metadata, judged jsontext.Value, apart bool) (jsontext.Value, error) {
	action, _, err := hideCredentials(inv.Phase, inv.Action)
	if err != nil {
		return nil, err
	}
	var doc documentWriter
	size := len(action) + len(judged) + metadata.size() + 768
	for key, value := range inv.Metadata {
		size += len(key) + len(value) + 4
	}
	doc.b = make([]byte, 0, size) // in most cases it does not grow
	doc.envelope(&inv)
	doc.time("reported_time", inv.ReportedTime)
	walk(action, skipSpace(action, 0), func(m member) bool {
		doc.member(action[m.name.start:m.name.end], action[m.value.start:m.value.end])
		return true
	})
	if judged != nil {
		doc.raw("judged", judged)
	}
	doc.scopes(inv.Scopes)
	doc.metadata(inv.Metadata, metadata, apart)
	return append(doc.b, '}'), nil
}

// metadata adds the caller's metadata and the run's bag, as far as such a hook sees it.
func (d *documentWriter) metadata(caller map[string]jsontext.Value, bag Metadata, apart bool) {
	var room [16]string
	d.name("metadata")
	d.b = append(appendQuote(append(d.b, '{'), callerKey), ":{"...)
	for i, key := range sortedNames(room[:0], caller) {
		if i > 0 {
			d.b = append(d.b, ',')
		}
		d.b = append(append(appendQuote(d.b, key), ':'), trim(caller[key])...)
	}
	d.b = append(d.b, '}')
	for _, key := range sortedNames(room[:0], bag) {
		if key == callerKey || IsApart(key) && !apart { // annotate refuses the first, which is reserved
			continue
		}
		entry := bag[key]
		d.b = append(appendQuote(append(d.b, ','), key), `:{"value":`...)
		d.b = append(d.b, trim(entry.Value)...)
		d.text("hook", entry.Hook)
		d.text("tier", string(entry.Tier))
		d.b = append(d.b, '}')
	}
	d.b = append(d.b, '}')
}

// sortedNames appends the names of a map in order.
func sortedNames[V any](names []string, m map[string]V) []string {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// documentWriter builds an object out of raw values, which keep their bytes.
type documentWriter struct{ b []byte }

func (d *documentWriter) member(quotedName, value []byte) {
	d.comma()
	d.b = append(append(append(d.b, quotedName...), ':'), value...)
}

// comma begins the next member.
func (d *documentWriter) comma() {
	if d.b = append(d.b, ','); len(d.b) == 1 {
		d.b[0] = '{'
	}
}

// name begins the next member with its name.
func (d *documentWriter) name(name string) {
	d.comma()
	d.b = append(appendQuote(d.b, name), ':')
}

func (d *documentWriter) raw(name string, value []byte) {
	d.name(name)
	d.b = append(d.b, value...)
}

// text adds a string unless it is empty.
func (d *documentWriter) text(name, s string) {
	if s != "" {
		d.name(name)
		d.b = appendQuote(d.b, s)
	}
}

// time adds a time unless it is zero.
func (d *documentWriter) time(name string, t time.Time) {
	if !t.IsZero() {
		d.name(name)
		d.b = append(t.UTC().AppendFormat(append(d.b, '"'), timeFormat), '"')
	}
}

// scopes adds scopes, in normal form.
func (d *documentWriter) scopes(s Scopes) {
	d.name("scopes")
	next := byte('{')
	s.each(s, func(name string, k ScopeKind, list, _ Scope) {
		d.b = append(appendQuote(append(d.b, next), name), ':')
		if list.everything(k) {
			d.b = append(d.b, `["*"]`...)
		} else {
			d.b = appendQuotes(d.b, list.Normalize(k))
		}
		next = ','
	})
	d.b = append(d.b, '}')
}

// envelope adds what every invocation says beside its action.
func (d *documentWriter) envelope(inv *Invocation) {
	d.text("phase", string(inv.Phase))
	d.text("id", inv.ID)
	d.text("runtime", inv.Runtime)
	d.text("session", inv.Session)
	d.text("agent", inv.Agent)
	d.text("run", inv.Run)
	d.text("user", inv.User)
	d.text("cwd", inv.CWD)
	d.time("time", inv.Time)
}

func (d *documentWriter) bytes() []byte {
	if len(d.b) == 0 {
		return []byte("{}")
	}
	return append(d.b, '}')
}
