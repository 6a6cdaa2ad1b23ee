package trust

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/tiers"
)

// Dir is a state directory, and what verifies signatures by its trust policy.
type Dir struct {
	Path string // absolute

	// Signatures makes what looks at evidence by a policy, such as sigstore.New. Without
	// it, a policy that speaks of signers cannot be used.
	Signatures func(*tiers.Policy) tiers.EvidenceVerifier

	denials *WatchedDenials // of a verifier; nil: the file is read each time
}

// shared is what all kernels of an organisation deny.
func (d Dir) shared() (Denials, error) {
	if d.denials == nil {
		return ReadDenials(d.Path)
	}
	return d.denials.Read()
}

// Policy reads the trust policy and the files that it names. With an error the
// policy trusts no signer. So does a policy whose file is missing. The error is
// of class tiers.PolicyUnusable.
func (d Dir) Policy() (*tiers.Policy, error) {
	p, err := d.own()
	if err != nil {
		return tiers.NoPolicy(), err
	}
	return d.denying(p)
}

// own is the policy of trust.yaml alone.
func (d Dir) own() (*tiers.Policy, error) {
	src, err := files.Read(filepath.Join(d.Path, tiers.PolicyFile), tiers.MaxPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		return tiers.NoPolicy(), nil
	}
	if err != nil {
		text := " cannot be read"
		if refused := (*files.Error)(nil); errors.As(err, &refused) {
			text = " " + refused.Reason
		}
		return nil, &tiers.Error{Class: tiers.PolicyUnusable, Text: tiers.PolicyFile + text, Cause: err}
	}
	return parsePolicy(d.Path, src)
}

// denying adds what all kernels of an organisation deny.
func (d Dir) denying(p *tiers.Policy) (*tiers.Policy, error) {
	shared, err := d.shared()
	if err == nil {
		p, err = shared.on(p)
	}
	if err != nil {
		return tiers.NoPolicy(), err
	}
	return p, nil
}

// denyingReadable adds to a policy what can be read of what is denied, in trust.yaml and by other kernels.
func (d Dir) denyingReadable(p *tiers.Policy) *tiers.Policy {
	shared, _ := d.shared() // with an error it is empty
	lists := shared.lists()
	if own, err := d.own(); err == nil {
		lists = append(lists, own.Deny)
	}
	if more, err := p.Denying(lists...); err == nil {
		return more
	}
	return p
}

// parsePolicy parses a policy whose files lie in dir.
func parsePolicy(dir string, src []byte) (*tiers.Policy, error) {
	return tiers.ParsePolicy(src, func(name string, limit int64) ([]byte, error) {
		return files.Read(statedir.Inside(dir, name), limit)
	})
}

// verifies returns an error of class tiers.PolicyUnusable when the policy speaks of
// signers and this program verifies no signatures: whom it denies could not be told from
// others.
func (d Dir) verifies(p *tiers.Policy) error {
	if d.Signatures != nil || !namesSigners(p) {
		return nil
	}
	return &tiers.Error{Class: tiers.PolicyUnusable, Text: tiers.PolicyFile +
		" names signers, and this program verifies no signatures: open belay with Options.Signatures"}
}

// namesSigners reports whether the policy cannot be followed without verifying
// signatures: it trusts by them, or denies by them.
func namesSigners(p *tiers.Policy) bool {
	return len(p.Rules)+len(p.Deny.Keys)+len(p.Deny.Identities)+len(p.Deny.Signatures) > 0
}

func (d Dir) verifier(p *tiers.Policy) tiers.EvidenceVerifier {
	if d.Signatures == nil {
		return unverified{}
	}
	return d.Signatures(p)
}

// unverified stands in where a program verifies no signatures: no piece of evidence counts.
type unverified struct{}

func (unverified) Facts(_ []byte, evidence []tiers.Evidence) []tiers.Fact {
	var facts []tiers.Fact
	for _, e := range evidence {
		if e.Kind != tiers.EvidenceManifest { // which is no signature
			facts = append(facts, tiers.Fact{Source: e.Name, Kind: e.Kind, Problem: &tiers.Error{
				Class: tiers.SignerNotTrusted, Text: "this program verifies no signatures"}})
		}
	}
	return facts
}
