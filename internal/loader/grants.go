package loader

import (
	"context"
	"strings"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/tiers"
)

// held returns the capabilities that the hook really has. A hook given by hand has no list
// of allowed ones: it gets everything that it declares. A hook with an import that is
// neither granted nor optional is not loaded.
func held(c *candidate, spec kernel.BindingSpec) ([]string, error) {
	grants, err := grantsFor(c.manifest, spec.Allowed, c.tier)
	if err != nil {
		return nil, err
	}
	if lacks := tiers.Lacks(c.manifest, c.info.Imports, grants); len(lacks) > 0 {
		return nil, notGranted(lacks, "`belay doctor --fix` offers to grant it")
	}
	return tiers.Held(grants), nil
}

// notGranted is the error about imports without a grant. remedy is for those that an
// operator can grant.
func notGranted(lacks []tiers.Lack, remedy string) error {
	var byTier, byOperator []string
	why := ""
	for _, l := range lacks {
		if l.Tier {
			byTier, why = append(byTier, l.Name), strings.TrimPrefix(l.Why, "refused: ")
		} else {
			byOperator = append(byOperator, l.Name)
		}
	}
	var texts []string
	if len(byOperator) > 0 {
		texts = append(texts, "it imports "+strings.Join(byOperator, ", ")+", not granted by the operator; "+remedy)
	}
	if len(byTier) > 0 {
		texts = append(texts, "it imports "+strings.Join(byTier, ", ")+", and "+why)
	}
	return &tiers.Error{Class: tiers.ErrCapability, Text: strings.Join(texts, "; ")}
}

// Ungranted is a binding that blocks its phases because belay.yaml does not grant the
// imports of its hook.
type Ungranted struct {
	Binding      string   `json:"binding"`
	Capabilities []string `json:"capabilities"` // as the manifest declares them
	Reasons      []string `json:"reasons"`      // the author's, in the same order; not to be trusted
}

// Ungranted returns the bindings that load once their capabilities are granted, in their
// order. Bindings whose hook needs another tier are not among them.
func (l *Loader) Ungranted(ctx context.Context, bindings []config.Binding) []Ungranted {
	var out []Ungranted
	for _, h := range bindings {
		spec := Spec(h)
		c, err := l.examine(ctx, spec)
		if err != nil {
			continue // another fault, which Bindings names
		}
		grants, err := grantsFor(c.manifest, spec.Allowed, c.tier)
		if err != nil {
			continue
		}
		u := Ungranted{Binding: h.Name}
		for _, l := range tiers.Lacks(c.manifest, c.info.Imports, grants) {
			if l.Tier {
				continue
			}
			for _, w := range c.manifest.Capabilities {
				if cap, err := tiers.ParseCapability(w.Name); err == nil && cap.Name == l.Name {
					u.Capabilities, u.Reasons = append(u.Capabilities, w.Name), append(u.Reasons, w.Reason)
				}
			}
		}
		if len(u.Capabilities) > 0 {
			out = append(out, u)
		}
	}
	return out
}
