package suite

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// WantEffect is an effect that is wanted: its kind, or an object with its kind and
// more of its members.
type WantEffect struct {
	Kind phases.EffectKind
	Rest jsontext.Value // the object; nil for a kind alone
}

var errEffect = errors.New("an effect is its kind, such as block, or an object with kind")

// UnmarshalJSON decodes either form.
func (w *WantEffect) UnmarshalJSON(b []byte) error {
	v := jsontext.Value(b)
	switch v.Kind() {
	case '"':
		if err := json.Unmarshal(b, &w.Kind); err != nil {
			return err
		}
	case '{':
		var e phases.Effect
		if err := json.Unmarshal(b, &e, json.RejectUnknownMembers(true)); err != nil {
			return errEffect
		}
		w.Kind, w.Rest = e.Kind, slices.Clone(v)
	default:
		return errEffect
	}
	if !slices.Contains(phases.EffectKinds(), w.Kind) {
		return errEffect
	}
	return nil
}

// MarshalJSON writes the form that it was read from.
func (w WantEffect) MarshalJSON() ([]byte, error) {
	if w.Rest != nil {
		return w.Rest, nil
	}
	return json.Marshal(w.Kind)
}

// fits reports whether the effect is the wanted one.
func (w *WantEffect) fits(e *phases.Effect) bool {
	if e.Kind != w.Kind {
		return false
	}
	return w.Rest == nil || subset(w.Rest, jsontext.Value(jsonOf(e)))
}
