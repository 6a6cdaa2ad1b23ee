package kernel

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// coversPin is a redactor that knows one secret: pin.
type coversPin struct{}

func (coversPin) JSON(raw jsontext.Value) (jsontext.Value, []string, error) { return raw, nil, nil }

func (coversPin) Text(s string) (string, error) {
	if s == "pin" {
		return "[redacted]", nil
	}
	return s, nil
}

// Of the names of an invocation that was not valid, a phase is kept only where it is one.
func TestNamesOnlyKeepsAPhaseOnly(t *testing.T) {
	k := &Kernel{options: Options{Redactor: coversPin{}, NewID: func(time.Time) string { return "new" }}}
	for given, want := range map[phases.Phase]phases.Phase{phases.PreTool: phases.PreTool, "pre_tool\x1b[2J": "", "": ""} {
		got := k.namesOnly(phases.Invocation{Phase: given, Session: "pin"}, time.Time{})
		if got.Phase != want || got.Session != "[redacted]" || got.ID != "new" {
			t.Errorf("%q: %q of session %q, invocation %q", given, got.Phase, got.Session, got.ID)
		}
	}
}

// A secret is refused as a name of metadata or state; what another effect has in its place names nothing.
func TestSecretNamesAreThoseOfMetadataAndState(t *testing.T) {
	i := &invocation{kernel: &Kernel{}, secrets: coversPin{}}
	for name, c := range map[string]struct {
		o       Outcome
		refused bool
	}{
		"metadata":      {Outcome{Effects: []phases.Effect{{Kind: phases.EffectAnnotate, Key: "pin"}}}, true},
		"other effect":  {Outcome{Effects: []phases.Effect{{Kind: phases.EffectRewrite, Key: "pin"}}}, false},
		"state":         {Outcome{StateWrites: []hostcalls.StateWrite{{Key: "pin"}}}, true},
		"state deleted": {Outcome{StateWrites: []hostcalls.StateWrite{{Key: "pin", Delete: true}}}, false},
	} {
		if f := i.secretName(&c.o); (f != nil) != c.refused {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// An effort that was never noted has no note to take back.
func TestAnEffortWithoutANoteIsDropped(*testing.T) { new(effort).drop() }
