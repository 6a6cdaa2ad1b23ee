package wire

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Slim is a verdict as far as its caller acts on it: without the hooks' reports and what names the
// record's parts, and without an action that is still the one that was asked about. The framed socket
// answers with it.
type Slim struct {
	ID        string              `json:"id"`
	Phase     phases.Phase        `json:"phase"`
	Decision  phases.Decision     `json:"decision"`
	Reason    string              `json:"reason,omitzero"`
	Kind      phases.Kind         `json:"kind,omitzero"`
	DecidedBy string              `json:"decided_by,omitzero"`
	Action    jsontext.Value      `json:"action,omitzero"`  // only with Changed
	Changed   []string            `json:"changed,omitzero"` // as in phases.Verdict
	Scopes    phases.Scopes       `json:"scopes,omitzero"`
	Metadata  phases.Metadata     `json:"metadata,omitempty"`
	Contexts  []string            `json:"contexts,omitempty"`
	Reply     *phases.Reply       `json:"reply,omitzero"`
	Retry     *phases.Retry       `json:"retry,omitzero"`
	Artifacts []phases.Artifact   `json:"artifacts,omitempty"`
	Approval  *phases.ApprovalRef `json:"approval,omitzero"`
	Grant     *phases.Grant       `json:"grant,omitzero"`
	Enforced  phases.Enforced     `json:"enforced"`
	Event     *phases.EventRef    `json:"event,omitzero"`
	Notes     []string            `json:"notes,omitempty"`
}

// SlimOf returns a verdict without what a Slim leaves out. They share memory.
func SlimOf(v *phases.Verdict) Slim {
	s := Slim{ID: v.ID, Phase: v.Phase, Decision: v.Decision, Reason: v.Reason, Kind: v.Kind, DecidedBy: v.DecidedBy,
		Scopes: v.Scopes, Metadata: v.Metadata, Contexts: v.Contexts, Reply: v.Reply, Retry: v.Retry,
		Artifacts: v.Artifacts, Approval: v.Approval, Grant: v.Grant, Enforced: v.Enforced, Event: v.Event, Notes: v.Notes}
	if len(v.Changed) > 0 {
		s.Action, s.Changed = v.Action, v.Changed
	}
	return s
}

// Verdict returns the verdict that s stands for, without the reports; asked is the action that was
// asked about. They share memory. What the daemon left out is empty, never nil.
func (s Slim) Verdict(asked jsontext.Value) phases.Verdict {
	v := phases.Verdict{ID: s.ID, Phase: s.Phase, Decision: s.Decision, Reason: s.Reason, Kind: s.Kind,
		DecidedBy: s.DecidedBy, Action: s.Action, Changed: s.Changed, Scopes: s.Scopes, Metadata: s.Metadata,
		Contexts: s.Contexts, Reply: s.Reply, Retry: s.Retry, Artifacts: s.Artifacts, Approval: s.Approval,
		Grant: s.Grant, Masked: []string{}, Enforced: s.Enforced, Hooks: []phases.HookReport{}, Event: s.Event,
		Notes: s.Notes}
	if len(v.Changed) == 0 && len(v.Action) == 0 && v.Runs() {
		v.Action = asked
	}
	if v.Changed == nil {
		v.Changed = []string{}
	}
	if v.Metadata == nil {
		v.Metadata = phases.Metadata{}
	}
	if v.Contexts == nil {
		v.Contexts = []string{}
	}
	if v.Artifacts == nil {
		v.Artifacts = []phases.Artifact{}
	}
	return v
}
