package approvals

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Proposal is a hook that an agent or a program wants to have installed.
type Proposal struct {
	Module []byte `json:"module"` // the file, base64
	// of the binding; default: the last part of the manifest's name
	Name         string         `json:"name,omitzero"`
	Phases       []phases.Phase `json:"phases,omitzero"`       // default: all that the hook serves
	Priority     int            `json:"priority,omitzero"`     // below 100
	Tools        string         `json:"tools,omitzero"`        // RE2; default: the manifest's
	AnyTool      bool           `json:"any_tool,omitzero"`     // the pattern may match no tool that belay knows
	Capabilities []string       `json:"capabilities,omitzero"` // default: all that the manifest asks for
	Config       jsontext.Value `json:"config,omitzero"`
	Observe      bool           `json:"observe,omitzero"` // record its decisions, but do not apply them
	Reason       string         `json:"reason,omitzero"`
	Source       []SourceFile   `json:"source,omitzero"`
	Runtime      string         `json:"runtime,omitzero"` // who proposes, by its own word
	Session      string         `json:"session,omitzero"`
	Agent        string         `json:"agent,omitzero"`
}

// SourceFile is a file of text beside a proposal. Nothing proves that the module was built from it.
type SourceFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}
