package adapters

import (
	"errors"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// Classes of payload errors for errors.Is.
var (
	ErrPayload      = errors.New("adapters: payload refused")               // every PayloadError
	ErrUnknownEvent = errors.New("adapters: unknown event")                 // also ErrPayload
	ErrTooLarge     = errors.New("adapters: payload too large")             // also ErrPayload
	ErrVerdicts     = errors.New("adapters: verdicts do not fit the event") // a fault of the caller
)

// PayloadError says why a payload was refused. Reason and Member are safe to
// show: a fixed sentence, and a member name of the runtime's protocol.
type PayloadError struct {
	Class  error // ErrPayload, ErrUnknownEvent, ErrTooLarge or ErrVerdicts
	Event  string
	Member string // pointer into the payload, or ""
	Reason string
}

// Error returns event, reason and member in one line.
func (e *PayloadError) Error() string {
	var b strings.Builder
	if e.Event != "" {
		b.WriteString(shownName(e.Event) + ": ")
	}
	b.WriteString(e.Reason)
	if e.Member != "" {
		b.WriteString(" at " + phases.SafeLine(e.Member, 200))
	}
	return b.String()
}

// shownName is the name of an event in a text for people: words in camel case,
// as runtimes call their events. Any other name may be the payload author's
// text.
func shownName(s string) string {
	unlike := func() string { return "an event with a name of " + strconv.Itoa(len(s)) + " bytes" }
	if len(s) > 40 || s[0] < 'A' || s[0] > 'Z' {
		return unlike()
	}
	word := 3 // letters of the word so far
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z' && word >= 3:
			word = 1
		case c >= 'a' && c <= 'z':
			word++
		default:
			return unlike()
		}
	}
	if word < 3 {
		return unlike()
	}
	return s
}

// Is reports the class; all classes but ErrVerdicts are ErrPayload.
func (e *PayloadError) Is(target error) bool {
	return target == e.Class || (target == ErrPayload && e.Class != ErrVerdicts)
}

// SafeReason returns a text about err that may be shown to an agent: that of a
// fault, of a refused payload or document, and else a fixed sentence.
func SafeReason(err error) string {
	if f := phases.FaultOf(err); f != nil {
		return phases.SafeText(f.Error(), phases.MaxReasonBytes)
	}
	var p *PayloadError
	if errors.As(err, &p) && !p.Is(ErrPayload) {
		return phases.SafeText("no decision could be made: "+p.Error(), phases.MaxReasonBytes)
	}
	if p != nil {
		return phases.SafeText("the event was refused: "+p.Error(), phases.MaxReasonBytes)
	}
	var d *phases.DecodeError
	if errors.As(err, &d) {
		return phases.SafeText("the event was refused: "+d.Error(), phases.MaxReasonBytes)
	}
	return "no decision could be made"
}
