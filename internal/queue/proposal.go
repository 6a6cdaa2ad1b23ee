package queue

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Limits of a proposal.
const (
	MaxProposedModule = 2 << 20   // bytes of the file
	MaxSource         = 128 << 10 // bytes of all source files together
	MaxSourceFiles    = 64        // files
	MaxProposalBody   = 4 << 20   // bytes of the document that carries all of it
	MaxDetails        = 256 << 10 // bytes of Item.Details
)

// ProposalDetails is what an item of kind proposal is about. What the module is and
// may do is not in here: the host finds it out from the bytes, whenever a person looks.
type ProposalDetails struct {
	Digest  string                 `json:"digest"`  // sha256:HEX of the module, which is kept under it
	Binding jsontext.Value         `json:"binding"` // the entry of belay.yaml, to the letter
	Source  []approvals.SourceFile `json:"source,omitzero"`
	Auto    bool                   `json:"auto,omitzero"` // accepted by single_user.auto_accept
}

// DecodeProposal decodes a proposal strictly. The error's text is safe to show.
func DecodeProposal(src []byte) (approvals.Proposal, error) {
	var p approvals.Proposal
	if err := json.Unmarshal(src, &p, json.RejectUnknownMembers(true)); err != nil {
		var se *json.SemanticError
		if errors.As(err, &se) {
			return p, fmt.Errorf("not a proposal: %s is not what is wanted there", phases.SafeLine(string(se.JSONPointer), 256))
		}
		return p, errors.New("not a proposal: not strict JSON")
	}
	return p, ValidateProposal(&p)
}

// ValidateProposal checks everything but the module and what depends on it.
func ValidateProposal(proposal *approvals.Proposal) error {
	size := 0
	for _, f := range proposal.Source {
		size += len(f.Path) + len(f.Text)
	}
	switch {
	case len(proposal.Module) == 0:
		return errors.New("there is no module")
	case len(proposal.Module) > MaxProposedModule:
		return fmt.Errorf("a proposed module has at most %d bytes", MaxProposedModule)
	case proposal.Priority >= 100 || proposal.Priority < -1000:
		return errors.New("the priority of a proposed hook is from -1000 to 99: 100 and more are for trusted hooks")
	case len(proposal.Reason) > phases.MaxReasonBytes:
		return fmt.Errorf("a reason has at most %d bytes", phases.MaxReasonBytes)
	case len(proposal.Source) > MaxSourceFiles || size > MaxSource:
		return fmt.Errorf("the source has more than %d files or %d bytes", MaxSourceFiles, MaxSource)
	case len(proposal.Runtime) > phases.MaxRuntimeBytes || len(proposal.Session) > phases.MaxIDBytes ||
		len(proposal.Agent) > phases.MaxIDBytes:
		return errors.New("runtime, session or agent is too long")
	}
	return nil
}

// CloneProposal returns a proposal that shares no memory with this one: the filed proposal
// is the examined one, even if the caller writes to its buffers meanwhile.
func CloneProposal(p approvals.Proposal) approvals.Proposal {
	p.Module, p.Config = slices.Clone(p.Module), slices.Clone(p.Config)
	p.Phases, p.Capabilities, p.Source = slices.Clone(p.Phases), slices.Clone(p.Capabilities), slices.Clone(p.Source)
	return p
}

// Proposed reads what a proposal is about.
func Proposed(it *approvals.Item) (ProposalDetails, error) {
	var d ProposalDetails
	if it.Kind != approvals.KindProposal {
		return d, errors.New("this is no proposed hook")
	}
	err := json.Unmarshal(it.Details, &d, json.RejectUnknownMembers(true))
	return d, err
}

// Key is the key of a proposal: the same file to be bound in the same way is the same
// proposal, from every requester. The error tells of a config that is no JSON.
func (d *ProposalDetails) Key() (string, error) {
	raw, err := json.Marshal(struct {
		Digest  string         `json:"digest"`
		Binding jsontext.Value `json:"binding"`
	}{d.Digest, d.Binding}, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("approvals: %w", err)
	}
	return phases.Digest(raw)
}

// CheckProposal finds out whether the members of a proposal belong together: the key is
// that of its details, and the hook that is named beside them is the one that would be
// bound. The error is of ErrUnsound.
func CheckProposal(item *approvals.Item) error {
	details, err := Proposed(item)
	if err != nil {
		return fmt.Errorf("%w: its details cannot be read", approvals.ErrUnsound)
	}
	key, err := details.Key()
	if err != nil || key != item.Key {
		return fmt.Errorf("%w: its key is not that of what it proposes", approvals.ErrUnsound)
	}
	var binding struct {
		Name   string `json:"name"`
		Module string `json:"module"`
	}
	if err := json.Unmarshal(details.Binding, &binding); err != nil {
		return fmt.Errorf("%w: its binding cannot be read", approvals.ErrUnsound)
	}
	if len(item.Hooks) != 1 || item.Hooks[0].Hook != binding.Name ||
		item.Hooks[0].Digest != details.Digest || binding.Module != details.Digest {
		return fmt.Errorf("%w: the hook that it names is not the one that it would bind", approvals.ErrUnsound)
	}
	return nil
}
