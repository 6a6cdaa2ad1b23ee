package replay

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
)

// Hook is a module in place of a recorded one, or beside the recorded ones.
type Hook struct {
	// Name is the binding whose module it replaces. A hook whose name no recorded
	// configuration has is added.
	Name     string
	Module   []byte
	Config   jsontext.Value // nil: the recorded one
	Priority *int           // nil: the recorded one, 0 for one that is added
	// AllowAll gives it every capability that it declares. Otherwise it has those that the
	// operator allowed the hook that it replaces.
	AllowAll bool
}

func (h *Hook) change(spec *kernel.BindingSpec) {
	if h.Config != nil {
		spec.Config = h.Config
	}
	if h.Priority != nil {
		spec.Priority = *h.Priority
	}
}

// Candidate is compared with the recorded configuration: other hooks in it, or another
// configuration.
type Candidate struct {
	Hooks  []Hook
	Policy string // path of a belay.yaml; "" keeps the recorded configuration
}

func (c *Candidate) check() error {
	names := map[string]bool{}
	for _, h := range c.Hooks {
		if h.Name == "" || names[h.Name] {
			return &Error{Class: ErrCandidate, Text: fmt.Sprintf("two hooks for %q", h.Name),
				Hint: "Each replaces one binding: --hook FILE,name=BINDING."}
		}
		names[h.Name] = true
	}
	if c.Policy != "" && len(c.Hooks) > 0 {
		return &Error{Class: ErrCandidate, Text: "hooks and a configuration together",
			Hint: "Bind the hooks in the configuration."}
	}
	return nil
}

// split says which hooks replace a binding of the chain and which are added.
func (c *Candidate) split(chain *recording.Chain) (swap map[string]*Hook, added []*Hook) {
	swap = map[string]*Hook{}
	bound := map[string]bool{}
	for _, b := range chain.Bindings {
		bound[b.Name] = true
	}
	for i := range c.Hooks {
		h := &c.Hooks[i]
		swap[h.Name] = h
		if !bound[h.Name] {
			added = append(added, h)
		}
	}
	return swap, added
}
