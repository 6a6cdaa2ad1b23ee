package wire

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// EffectiveConfig is the configuration in force, each hook and key with the layers that it comes from.
type EffectiveConfig struct {
	System bool            `json:"system"` // system mode: there are layers
	Hooks  []EffectiveHook `json:"hooks"`  // in the order of their priority
	Keys   []EffectiveKey  `json:"keys"`   // that are set, by name
	// UserFile: the user has a layer of their own.
	UserFile bool   `json:"user_file"`
	Problem  string `json:"problem,omitzero"` // why a layer is not in force
}

// EffectiveHook is a binding. Its layer is organisation, user, approved (by a reviewer, for this user) or directory.
type EffectiveHook struct {
	Name         string         `json:"name"`
	Layer        string         `json:"layer"`
	Module       string         `json:"module"`
	Phases       []phases.Phase `json:"phases,omitzero"` // none: all that the hook serves
	Priority     int            `json:"priority"`
	Mode         phases.Mode    `json:"mode,omitzero"` // none: enforce
	Capabilities []string       `json:"capabilities"`
	Disabled     bool           `json:"disabled,omitzero"`
}

// EffectiveKey is a key of belay.yaml, or an element of a list.
type EffectiveKey struct {
	Key    string         `json:"key"`
	Layers []string       `json:"layers"`
	Value  jsontext.Value `json:"value"`
}
