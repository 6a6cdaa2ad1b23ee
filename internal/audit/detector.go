package audit

import (
	"bytes"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
)

// Detector is a Remembering whose memories are Cutting: the detector of package redact
// for all that is logged. It is safe for concurrent use: Use swaps its rules.
type Detector struct {
	current atomic.Pointer[rules]
}

// rules are the two redactors that a configuration makes: one for logged actions, and one
// for texts that hooks write and read again (reasons, metadata, state), which
// profile strict leaves to the detector, for hashed it would be of no use. stored is for
// those of the texts that hooks read again, where it is another one; alone has it for all.
type rules struct {
	actions, rest, stored *redact.Redactor
	alone                 *Detector
}

// newRules makes alone once: each invocation asks for it.
func newRules(actions, rest, stored *redact.Redactor) *rules {
	alone := new(Detector)
	alone.current.Store(&rules{actions: stored, rest: stored, stored: stored, alone: alone})
	return &rules{actions: actions, rest: rest, stored: stored, alone: alone}
}

// NewDetector makes a Detector of a redactor for logged actions and effects, and one for
// the rest. They may be the same.
func NewDetector(actions, rest *redact.Redactor) *Detector {
	d := new(Detector)
	d.current.Store(newRules(actions, rest, rest))
	return d
}

// Storing returns the Detector with another redactor for what hooks read again, and for names. What only the others
// redact is redacted in records alone.
func (d *Detector) Storing(stored *redact.Redactor) *Detector {
	now := d.current.Load()
	d.current.Store(newRules(now.actions, now.rest, stored))
	return d
}

// Stored implements Storing.
func (d *Detector) Stored() Redactor { return d.current.Load().alone }

// Use takes the rules of another Detector.
func (d *Detector) Use(from *Detector) { d.current.Store(from.current.Load()) }

// Actions is the redactor for logged actions and effects.
func (d *Detector) Actions() *redact.Redactor { return d.current.Load().actions }

// JSON implements Redactor.
func (d *Detector) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	return d.current.Load().forDocument(raw).JSON(raw)
}

func (r *rules) forDocument(raw jsontext.Value) *redact.Redactor {
	if bytes.HasPrefix(raw, []byte(`{"action":`)) { // which is so of every input
		return r.actions
	}
	for _, member := range []string{"/action", "/effects"} {
		if _, ok := phases.Get(raw, member); ok {
			return r.actions
		}
	}
	return r.rest
}

// Text implements Redactor.
func (d *Detector) Text(s string) (string, error) {
	covered, _ := d.current.Load().rest.Text(s)
	return covered, nil
}

// Line redacts a line that is logged.
func (d *Detector) Line(s string) string {
	covered, _ := d.current.Load().rest.Text(s)
	return covered
}

// Remember implements Remembering.
func (d *Detector) Remember() Memory {
	now := d.current.Load()
	m := &detected{rules: now, record: redact.NewRecord()}
	if now.stored != now.rest {
		m.beside = &detected{rules: now.alone.current.Load(), record: redact.NewRecord()}
	}
	return m
}

// detected is the Memory of one invocation.
type detected struct {
	rules  *rules
	record *redact.Record
	beside *detected // learns from the same texts by the rules for what is stored; nil: they are the same
}

// JSON implements Redactor.
func (m *detected) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	if m.beside != nil {
		if _, _, err := m.beside.JSON(raw); err != nil {
			return nil, nil, err
		}
	}
	return m.record.JSON(m.rules.forDocument(raw), raw)
}

// Text implements Redactor.
func (m *detected) Text(s string) (string, error) {
	if m.beside != nil {
		_, _ = m.beside.Text(s)
	}
	covered, _ := m.record.Text(m.rules.rest, s)
	return covered, nil
}

// Stored implements Storing.
func (m *detected) Stored() Redactor {
	if m.beside != nil {
		return m.beside
	}
	return m
}

// Known implements Memory.
func (m *detected) Known() int {
	if m.beside != nil {
		return m.record.Known() + m.beside.record.Known()
	}
	return m.record.Known()
}

// Removed implements Cutting.
func (m *detected) Removed(cuts []redact.Cut) {
	if m.beside != nil {
		m.beside.Removed(cuts)
	}
	m.record.Removed(m.rules.rest, cuts)
}

// JSONCut implements Cutting.
func (m *detected) JSONCut(raw jsontext.Value, cuts []redact.Cut) (jsontext.Value, []string, error) {
	if m.beside != nil {
		if _, _, err := m.beside.JSONCut(raw, cuts); err != nil {
			return nil, nil, err
		}
	}
	return m.record.JSONCut(m.rules.forDocument(raw), raw, cuts)
}

var (
	_ Remembering = (*Detector)(nil)
	_ Cutting     = (*detected)(nil)
)
