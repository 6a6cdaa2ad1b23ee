// Package trust decides how far a module file is trusted: by the operator's policy,
// trust.yaml in the state directory, which it reads, watches and edits, and by the
// evidence in files beside the module (bundles, signatures, signed manifests), which it
// names, reads and writes. It never decides what a tier may do, and never runs a module.
package trust

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const maxDecisions = 1024 // remembered

// Verifier is the operator's trust policy and its decisions. It implements
// kernel.Verifier and is safe for concurrent use.
type Verifier struct {
	dir Dir
	now func() time.Time

	mu       sync.Mutex // guards what follows
	policy   *tiers.Policy
	denies   *tiers.Policy // the last one that could be read; nil: none could, and what is denied is not known
	verifier tiers.EvidenceVerifier
	bad      error     // trust.yaml cannot be used; of class tiers.PolicyUnusable
	until    time.Time // a window of the policy opens or closes; zero: never
	made     map[string]tiers.Decision
}

// Open reads the policy. clock nil means the system's. A policy that cannot be
// used is no error here: nothing is trusted by it until it can.
func (d Dir) Open(clock kernel.Clock) *Verifier {
	d.denials = WatchDenials(d.Path)
	t := &Verifier{dir: d, now: time.Now}
	if clock != nil {
		t.now = clock.Now
	}
	t.Refresh()
	return t
}

// Refresh reads trust.yaml again and reports whether decisions may have changed.
func (t *Verifier) Refresh() bool {
	policy, unread := t.dir.Policy()
	err := cmp.Or(unread, t.dir.verifies(policy))
	t.mu.Lock()
	defer t.mu.Unlock()
	more := false
	if unread == nil {
		t.denies = policy
	} else if t.denies != nil { // what can be read is denied all the same
		denies := t.dir.denyingReadable(t.denies)
		t.denies, more = denies, denies != t.denies
	}
	now := t.now()
	same := !more && t.policy != nil && errorText(t.bad) == errorText(err) && t.policy.Digest() == policy.Digest()
	if same && (t.until.IsZero() || now.Before(t.until)) {
		return false
	}
	t.policy, t.bad, t.until = policy, err, policy.NextChange(now)
	t.verifier, t.made = t.dir.verifier(policy), map[string]tiers.Decision{}
	return true
}

// Revision names the policy that decides: its digest, "unusable", or "" when there is
// none, which trusts no signer.
func (t *Verifier) Revision() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.bad != nil:
		return "unusable"
	case t.policy.Digest() == tiers.NoPolicy().Digest():
		return ""
	}
	return t.policy.Digest()
}

// Problem says why trust.yaml cannot be used; "" when it can, or there is none.
func (t *Verifier) Problem() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errorText(t.bad)
}

// InUse returns the policy that decides; nil when it cannot be used.
func (t *Verifier) InUse() *tiers.Policy {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bad != nil {
		return nil
	}
	return t.policy
}

// decide says how far a file is trusted with that evidence. The error is of
// class tiers.PolicyUnusable: then not even the deny lists are known.
func (t *Verifier) decide(digest string, file []byte, m *tiers.Manifest,
	evidence []tiers.Evidence) (tiers.Decision, error) {
	t.mu.Lock()
	policy, verifier, bad := t.policy, t.verifier, t.bad
	key := digest + " " + policy.Digest() + " " + tiers.EvidenceDigest(evidence)
	d, known := t.made[key]
	t.mu.Unlock()
	if bad != nil {
		return tiers.Decision{}, bad
	}
	now := t.now()
	if known && (d.Until.IsZero() || now.Before(d.Until)) {
		return d, nil
	}
	d = policy.Evaluate(digest, m, verifier.Facts(file, evidence), now)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.policy == policy { // else it was decided by a policy that no longer holds
		if len(t.made) >= maxDecisions {
			clear(t.made)
		}
		t.made[key] = d
	}
	return d, nil
}

// Prove turns a decision into what the loader acts on. A revoked file has no tier
// to fall back to: it does not run at all.
func (t *Verifier) Prove(digest string, file []byte, m *tiers.Manifest,
	evidence []tiers.Evidence) (kernel.Proof, error) {
	d, err := t.decide(digest, file, m, evidence)
	if err != nil {
		return kernel.Proof{}, err
	}
	if d.Code == tiers.Revoked {
		return kernel.Proof{}, d.Err()
	}
	p := kernel.Proof{Tier: d.Tier, Signer: strings.Join(d.Signers, ", "), Why: d.Err()}
	for _, e := range d.Evidence {
		if e.Code != "" {
			p.Notes = append(p.Notes, fmt.Sprintf("evidence %s does not count (%s): %s", e.Source, string(e.Code), e.Why))
		}
	}
	return p, nil
}

// Denied returns an error of class tiers.Revoked when the file is on the deny
// list. A hook that comes with the binary does not depend on trust.yaml otherwise. While
// trust.yaml cannot be read, the list of the last one that could be counts; where none
// could, the error is of class tiers.PolicyUnusable.
func (t *Verifier) Denied(digest string) error {
	t.mu.Lock()
	denies, bad := t.denies, t.bad
	t.mu.Unlock()
	if denies == nil {
		return bad
	}
	if d := denies.Evaluate(digest, nil, nil, t.now()); d.Code == tiers.Revoked {
		return d.Err()
	}
	return nil
}

// Verify implements kernel.Verifier with the evidence that is kept with the file.
func (t *Verifier) Verify(_ context.Context, digest string, module []byte) (kernel.Proof, error) {
	pieces, err := ReadEvidence(statedir.Blob(t.dir.Path, digest))
	if err != nil {
		return kernel.Proof{}, err
	}
	return t.Prove(digest, module, manifestIn(module), pieces)
}

// manifestIn returns the manifest of a module, or nil.
func manifestIn(module []byte) *tiers.Manifest {
	engine, err := sandbox.Open(sandbox.Options{})
	if err != nil {
		return nil
	}
	defer engine.Close()
	info, err := engine.Inspect(module)
	if err != nil || info.Manifest == nil {
		return nil
	}
	m, err := tiers.DecodeManifest(info.Manifest)
	if err != nil {
		return nil
	}
	return m
}

// Decision says how far a file with that evidence is trusted. The error is of class
// tiers.PolicyUnusable, or of the file's parsing.
func (t *Verifier) Decision(file []byte, evidence []tiers.Evidence) (tiers.Decision, error) {
	digest := phases.ByteDigest(file)
	hooks, err := builtin.Load()
	if err != nil {
		return tiers.Decision{}, err
	}
	if hooks.Trusted(digest) {
		if t.Denied(digest) != nil {
			return t.decide(digest, file, nil, nil)
		}
		return tiers.Decision{Tier: phases.Trusted, Why: "its digest is compiled into this binary",
			Signers: []string{"builtin"}, Rules: []tiers.RuleOutcome{}, Evidence: []tiers.EvidenceOutcome{}}, nil
	}
	return t.decide(digest, file, manifestIn(file), evidence)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

var _ kernel.Verifier = (*Verifier)(nil)
