package phases

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// EffectKind names what a hook asks for.
type EffectKind string

const (
	EffectBlock    EffectKind = "block"    // Text: reason
	EffectAsk      EffectKind = "ask"      // Text: reason; Value: the request_approval document
	EffectRewrite  EffectKind = "rewrite"  // Path, Value; or Path, remove
	EffectRedact   EffectKind = "redact"   // Path, Label
	EffectClamp    EffectKind = "clamp"    // Scopes
	EffectAnnotate EffectKind = "annotate" // Key, Value
	EffectContext  EffectKind = "context"  // Text
	EffectRetry    EffectKind = "retry"    // Value: {"instruction","max"}
	EffectReply    EffectKind = "reply"    // Value: {"text"}
	EffectArtifact EffectKind = "artifact" // Value: {"name","media_type","text"|"data_base64","meta"}
	EffectGrant    EffectKind = "grant"    // Text: reason
)

// Effect is one thing that a hook asks for. Which members are set depends on
// Kind. Paths are RFC 6901 pointers relative to the action.
type Effect struct {
	Kind   EffectKind     `json:"kind"`
	Path   string         `json:"path,omitzero"`
	Value  jsontext.Value `json:"value,omitzero"`
	Remove bool           `json:"remove,omitzero"`
	Label  string         `json:"label,omitzero"`
	Key    string         `json:"key,omitzero"`
	Text   string         `json:"text,omitzero"`
	Scopes *Scopes        `json:"scopes,omitzero"`
}

// CleanEffects returns a copy whose texts are safe to show, as verdicts and events
// have them. Values keep their bytes: they are data.
func CleanEffects(list []Effect) []Effect {
	out := slices.Clone(list)
	for i := range out {
		out[i].Text = SafeText(out[i].Text, maxEffectBytes)
		out[i].Label = SafeLine(out[i].Label, maxLabelBytes)
	}
	return out
}
