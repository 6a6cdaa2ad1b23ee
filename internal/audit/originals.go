package audit

import (
	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// The digests in events are of these documents. With originals and keys a
// program can compute them again, and so find out whether an original belongs
// to an event.

// InputDocument is what the input digest of a verdict's event is of.
func InputDocument(inv *Invocation) ([]byte, error) { return encoded(inputOf(inv)) }

// OutputDocument is what the output digest of a verdict's event is of. wrote is the
// metadata that the chain wrote, as it was redacted.
func OutputDocument(v *phases.Verdict, wrote phases.Metadata) ([]byte, error) {
	return encoded(outputOf(v, wrote))
}

// EffectsDocument is what the output digest of a turn's event is of; there is none
// when the turn asked for nothing.
func EffectsDocument(list []phases.Effect) ([]byte, error) { return encoded(effects{list}) }

func inputOf(inv *Invocation) input {
	return input{Action: inv.Action, CWD: inv.CWD, Scopes: inv.Scopes, Metadata: inv.Metadata, Carried: inv.Carried,
		Time: inv.Time, Reported: inv.ReportedTime}
}

func outputOf(v *phases.Verdict, wrote phases.Metadata) output {
	out := output{Scopes: v.Scopes, Metadata: wrote, Contexts: v.Contexts, Reply: v.Reply, Retry: v.Retry,
		Artifacts: v.Artifacts, Grant: v.Grant}
	if len(v.Changed) > 0 {
		out.Action = v.Action
	}
	return out
}

func encoded(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }
