package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// verify finds out how far the candidate is trusted, and refuses it where the
// binding relies on more. Errors are kernel.ErrTrust for errors.Is.
//
// It refuses a binding for trusted hooks whose hook is trusted no longer. Without its
// powers the hook would run on and miss, unnoticed, the actions that it was bound for.
func (l *Loader) verify(ctx context.Context, spec kernel.BindingSpec, digest string, c *candidate) error {
	adhoc := isGiven(spec)
	proof, err := l.proof(ctx, spec, digest, c)
	if err != nil {
		return fmt.Errorf("%w: %w", kernel.ErrTrust, err)
	}
	if !adhoc && c.tier != phases.Trusted && proof.Tier.Rank() > 0 {
		c.tier, c.signer = proof.Tier, proof.Signer
	}
	c.notes = append(c.notes, proof.Notes...)
	if c.tier == phases.Proposed {
		return fmt.Errorf("%w: a proposed hook never runs on live actions", kernel.ErrTrust)
	}
	if c.tier == phases.Trusted || adhoc {
		return nil
	}
	reason := relies(spec)
	if power := floorImport(c.info.Imports, c.manifest); reason == "" && power != "" {
		reason = "it imports " + power + ", which only trusted hooks may hold"
	}
	if reason == "" {
		return nil
	}
	return fmt.Errorf("%w: %w", kernel.ErrTrust, notTrusted(reason, c.tier, proof.Why))
}

// relies says why a binding needs its hook to be trusted, or "".
func relies(spec kernel.BindingSpec) string {
	switch {
	case spec.Tier == phases.Trusted:
		return "it is bound as trusted"
	case spec.Priority >= kernel.TrustedPriority:
		return fmt.Sprintf("it has a priority of %d or more, which only trusted hooks may have", kernel.TrustedPriority)
	}
	return ""
}

// proof asks the verifier. Hooks that come with the binary, and those that are
// given by hand, are only held against the deny list.
func (l *Loader) proof(ctx context.Context, spec kernel.BindingSpec, digest string,
	c *candidate) (kernel.Proof, error) {
	adhoc := isGiven(spec)
	if l.o.Verifier != nil {
		if adhoc || c.tier == phases.Trusted {
			return kernel.Proof{}, nil
		}
		return l.o.Verifier.Verify(ctx, digest, c.file.Bytes())
	}
	if adhoc {
		return l.o.Trust.Prove(digest, c.file.Bytes(), nil, nil)
	}
	if c.tier == phases.Trusted {
		return kernel.Proof{}, l.o.Trust.Denied(digest)
	}
	pieces, err := l.files.evidence(spec, digest)
	if err != nil {
		return kernel.Proof{}, err
	}
	var m *tiers.Manifest
	if c.info.Manifest != nil {
		if m, err = l.known.manifest(c.file, c.info.Manifest); err != nil {
			return kernel.Proof{}, err
		}
	}
	return l.o.Trust.Prove(digest, c.file.Bytes(), m, pieces)
}

// floorImport returns the first import that no tier below trusted may hold and that the
// manifest, nil for none, does not list as optional; or "".
func floorImport(imports []string, m *tiers.Manifest) string {
	i := slices.IndexFunc(imports, func(name string) bool {
		return (m == nil || !m.CanDoWithout(name)) && !tiers.Ceiling(phases.Sandboxed, tiers.Capability{Name: name})
	})
	if i < 0 {
		return ""
	}
	return imports[i]
}

// notTrusted is the error about a hook that would have to be trusted. Its class is
// the code of the fault of its signatures.
func notTrusted(reason string, tier phases.Tier, why error) error {
	e := &tiers.Error{Class: tiers.Unsigned, Text: reason + ", and it is " + string(tier), Cause: why}
	var te *tiers.Error
	if errors.As(why, &te) {
		e.Class, e.Text = te.Class, e.Text+" ("+te.Text+")"
	}
	return e
}
