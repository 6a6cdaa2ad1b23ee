package audit

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/redact"
)

// Detector is a Remembering whose memories are Cutting: one redactor for all that is
// logged. It is safe for concurrent use if its members are not changed any more.
type Detector struct{ Redactor *redact.Redactor }

// JSON implements Redactor.
func (d Detector) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	return d.Redactor.JSON(raw)
}

// Text implements Redactor.
func (d Detector) Text(s string) (string, error) {
	covered, _ := d.Redactor.Text(s)
	return covered, nil
}

// Remember implements Remembering.
func (d Detector) Remember() Memory { return &detected{d.Redactor, redact.NewRecord()} }

// detected is the Memory of one invocation.
type detected struct {
	redactor *redact.Redactor
	record   *redact.Record
}

// JSON implements Redactor.
func (m *detected) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	return m.record.JSON(m.redactor, raw)
}

// Text implements Redactor.
func (m *detected) Text(s string) (string, error) {
	covered, _ := m.record.Text(m.redactor, s)
	return covered, nil
}

// Known implements Memory.
func (m *detected) Known() int { return m.record.Known() }

// Removed implements Cutting.
func (m *detected) Removed(cuts []redact.Cut) { m.record.Removed(m.redactor, cuts) }

// JSONCut implements Cutting.
func (m *detected) JSONCut(raw jsontext.Value, cuts []redact.Cut) (jsontext.Value, []string, error) {
	return m.record.JSONCut(m.redactor, raw, cuts)
}

var (
	_ Remembering = Detector{}
	_ Cutting     = (*detected)(nil)
)
