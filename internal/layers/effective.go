package layers

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/strictyaml"
)

// Effective says of a state directory's configuration which layer each hook and each key comes from. file is its
// belay.yaml, origin what stands beside it; nil outside of system mode, where there is one layer. Errors are of class
// config.ErrConfig.
func Effective(file, origin []byte) (*wire.EffectiveConfig, error) {
	f, err := config.Parse(file)
	if err != nil {
		return nil, err
	}
	from, err := readOrigin(origin)
	if err != nil {
		return nil, err
	}
	out := &wire.EffectiveConfig{System: from != nil, Hooks: []wire.EffectiveHook{}, Keys: []wire.EffectiveKey{}}
	for _, b := range f.Hooks {
		layer := LayerDirectory
		switch {
		case from == nil:
		case slices.Contains(from.Organisation, b.Name):
			layer = LayerOrganisation
		case slices.Contains(from.User, b.Name):
			layer = LayerUser
		default:
			layer = LayerApproved
		}
		out.Hooks = append(out.Hooks, wire.EffectiveHook{Name: b.Name, Layer: layer, Module: b.Module, Phases: b.Phases,
			Priority: b.Priority, Mode: b.Mode, Capabilities: slices.Concat([]string{}, b.Capabilities),
			Disabled: b.Disabled})
	}
	slices.SortStableFunc(out.Hooks, func(a, b wire.EffectiveHook) int { return b.Priority - a.Priority })
	doc, err := strictyaml.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrConfig, err)
	}
	out.Keys, err = keysOf(doc.JSON, from)
	return out, err
}

// keysOf lists the keys that are set, hooks apart: lists of what is added by their elements, others by their value.
func keysOf(file jsontext.Value, from *Origin) ([]wire.EffectiveKey, error) {
	out := []wire.EffectiveKey{}
	add := func(key string, v any) error {
		raw, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("%w: %w", config.ErrConfig, err)
		}
		layers := []string{LayerDirectory}
		if from != nil {
			if layers = from.Keys[key]; layers == nil {
				layers = []string{LayerOrganisation}
			}
		}
		out = append(out, wire.EffectiveKey{Key: key, Layers: layers, Value: raw})
		return nil
	}
	var each func(key string, v any) error
	each = func(key string, v any) error {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if err := each(key+"."+name, v[name]); err != nil {
					return err
				}
			}
			return nil
		case []any:
			if r, ok := RuleOf(key); !ok || r.Merge != Added && r.Merge != Organisation {
				return add(key, v)
			}
			for i, element := range v {
				if err := add(fmt.Sprintf("%s[%d]", key, i), element); err != nil {
					return err
				}
			}
			return nil
		}
		return add(key, v)
	}
	var v map[string]any
	if err := json.Unmarshal(file, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrConfig, err)
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if name == "hooks" || name == "version" {
			continue
		}
		if err := each(name, v[name]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
