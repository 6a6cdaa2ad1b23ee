package wire

import "github.com/belay-hooks/belay/phases"

// Hook says how a binding stands.
type Hook struct {
	Name         string         `json:"name"`
	Module       string         `json:"module"`
	Digest       string         `json:"digest,omitzero"`
	Version      string         `json:"version,omitzero"`
	Tier         phases.Tier    `json:"tier,omitzero"`
	Signer       string         `json:"signer,omitzero"`
	Mode         phases.Mode    `json:"mode"`
	Priority     int            `json:"priority"`
	Phases       []phases.Phase `json:"phases"`
	Mutates      []phases.Phase `json:"mutates,omitzero"`
	Capabilities []string       `json:"capabilities"` // that it really holds
	Disabled     bool           `json:"disabled,omitzero"`
	Problem      string         `json:"problem,omitzero"`     // why it blocks its phases; safe to show
	ConfigFile   string         `json:"config_file,omitzero"` // that holds its options, as belay.yaml names it

	// Detail is the cause of Problem. The kernel sets it, and it is not on the wire.
	Detail string `json:"-"`
}
