// Package export decides how events are written for other programs: as JSON lines,
// as OTLP logs in JSON, and as CEF for log collectors. It never decides which
// events those are, it reads nothing and opens no files.
//
// One event is always one line. Line breaks, escape sequences, NULs, bidirectional
// overrides and the separators of a format are escaped; decoding the JSON gives back
// the stored text.
package export

import (
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// Format names a form of export.
type Format string

const (
	// JSONL is one event a line, in the form in which it is stored.
	JSONL Format = "jsonl"
	// OTLP is OpenTelemetry's log records in the JSON encoding of OTLP, one export
	// request a line: the form of the file exporter and receiver of collectors.
	OTLP Format = "otlp"
	// CEF is ArcSight's Common Event Format, version 0, without a syslog header.
	CEF Format = "cef"
)

// Formats returns all formats.
func Formats() []Format { return []Format{JSONL, OTLP, CEF} }

// ErrFormat means that there is no such format.
var ErrFormat = errors.New("export: no such format")

// Writer writes events in one format. It is used by one goroutine.
type Writer struct {
	to      io.Writer
	version string
	write   func([]phases.Event) ([]byte, error)
}

// New returns a writer. version is that of the program. The error is ErrFormat.
func New(f Format, to io.Writer, version string) (*Writer, error) {
	w := &Writer{to: to, version: version}
	switch f {
	case JSONL:
		w.write = w.jsonl
	case OTLP:
		w.write = w.otlp
	case CEF:
		w.write = w.cef
	default:
		return nil, fmt.Errorf("%w: %q", ErrFormat, string(f))
	}
	return w, nil
}

// Write writes events in their order. The error is the destination's, or says
// which event could not be encoded.
func (w *Writer) Write(events []phases.Event) error {
	if len(events) == 0 {
		return nil
	}
	b, err := w.write(events)
	if err != nil {
		return err
	}
	_, err = w.to.Write(b)
	return err
}

// subject is what an event is a step of, besides an invocation: an intent, a
// question to a person, or a lease; "" when there is none.
func subject(e *phases.Event) (what, id string) {
	get := func(ptr string) string {
		var s string
		if v, ok := phases.Get(e.Output, ptr); !ok || json.Unmarshal(v, &s) != nil {
			return ""
		}
		return s
	}
	switch e.Type {
	case phases.EventIntent, phases.EventOutcome:
		return "intent", e.Intent
	case phases.EventApproval:
		return "approval", get("/approval")
	case phases.EventLease:
		return "lease", get("/id")
	}
	return "", ""
}

func (w *Writer) jsonl(events []phases.Event) (out []byte, err error) {
	for i := range events {
		b, err := JSON(&events[i])
		if err != nil {
			return nil, err
		}
		out = append(append(out, b...), '\n')
	}
	return out, nil
}

// JSON returns the event as JSON on one line that is harmless on a terminal.
func JSON(e *phases.Event) ([]byte, error) {
	b, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("export: event %d: %w", e.Seq, err)
	}
	return visible(b), nil
}

// visible escapes the characters in JSON text that a terminal would act on or a
// reader not see. They stand in strings only, where an escape means the same.
func visible(b []byte) []byte {
	clean := true
	for _, r := range string(b) {
		if hidden(r) {
			clean = false
			break
		}
	}
	if clean {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for _, r := range string(b) {
		switch {
		case !hidden(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// hidden reports whether a character acts on a terminal, or cannot be seen:
// controls, format characters such as bidirectional overrides, line separators.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
