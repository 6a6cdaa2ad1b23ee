package sigstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// verifier checks evidence with the keys and the trusted root of one policy. It is
// safe for concurrent use.
type verifier struct {
	keys         []tiers.Key
	requirements []tiers.Assurance
	root         func() ([]byte, error)

	// The root is parsed when the first certificate is looked at: hosts without
	// keyless rules never pay for it.
	once     sync.Once
	material root.TrustedMaterial
	rootErr  *tiers.Error
}

// New returns a verifier for the policy. It parses nothing yet.
func New(p *tiers.Policy) tiers.EvidenceVerifier {
	return NewVerifier(p.Keys(), p.Requirements(), p.Root)
}

// NewVerifier returns a verifier without a policy: for signatures of the keys, and for
// certificates with one of the assurances, the strictest first. root returns the JSON of
// the trusted root; it is called at most once, when the first certificate is looked at.
func NewVerifier(keys []tiers.Key, wanted []tiers.Assurance, root func() ([]byte, error)) tiers.EvidenceVerifier {
	return &verifier{keys: keys, requirements: wanted, root: root}
}

// artifact is the file that evidence has to be about.
type artifact struct {
	file     []byte
	digest   [sha256.Size]byte
	subjects map[[sha256.Size]byte]bool // digests that a statement may name: the file's, or a manifest's that binds it
}

// Facts checks every piece of evidence about the file. It returns one fact for each
// signature, and one for each piece that cannot be used.
func (v *verifier) Facts(file []byte, evidence []tiers.Evidence) []tiers.Fact {
	a := &artifact{file: file, digest: sha256.Sum256(file)}
	a.subjects = map[[sha256.Size]byte]bool{a.digest: true}
	var facts []tiers.Fact
	if len(evidence) > tiers.MaxEvidenceList {
		for _, e := range evidence[tiers.MaxEvidenceList:] {
			facts = append(facts,
				broken(e, fmt.Sprintf("more than %d pieces of evidence: this one was not looked at", tiers.MaxEvidenceList), nil))
		}
		evidence = evidence[:tiers.MaxEvidenceList]
	}
	for _, e := range evidence {
		if e.Kind == tiers.EvidenceManifest {
			if f := a.addManifest(e); f != nil {
				facts = append(facts, *f)
			}
		}
	}
	for _, e := range evidence {
		if e.Kind != tiers.EvidenceManifest {
			facts = append(facts, v.fact(a, e))
		}
	}
	return facts
}

// fact checks one piece. A library that panics on hostile input must neither end
// the host nor let the piece count.
func (v *verifier) fact(a *artifact, evidence tiers.Evidence) (f tiers.Fact) {
	defer func() {
		if p := recover(); p != nil {
			f = broken(evidence, "it cannot be read", fmt.Errorf("panic: %v", p))
		}
	}()
	switch {
	case len(evidence.Data) > tiers.MaxEvidence:
		return broken(evidence, fmt.Sprintf("larger than %d bytes", tiers.MaxEvidence), nil)
	case evidence.Kind == tiers.EvidenceBundle:
		return v.bundle(a, evidence)
	case evidence.Kind == tiers.EvidenceSignature:
		return v.detached(a, evidence)
	}
	return broken(evidence, "evidence of a kind that is not known", nil)
}

func broken(e tiers.Evidence, text string, cause error) tiers.Fact {
	return problem(tiers.Fact{Source: e.Name, Kind: e.Kind}, tiers.BundleMalformed, text, cause)
}

func problem(f tiers.Fact, code tiers.Code, text string, cause error) tiers.Fact {
	f.Problem = &tiers.Error{Class: code, Text: phases.SafeLine(text, 400), Cause: cause}
	return f
}

// trusted returns the parsed root.
func (v *verifier) trusted() (root.TrustedMaterial, *tiers.Error) {
	v.once.Do(func() {
		b, err := v.root()
		if err != nil {
			var e *tiers.Error
			if !errors.As(err, &e) {
				e = &tiers.Error{Class: tiers.RootMissing, Text: "the trusted root cannot be read", Cause: err}
			}
			v.rootErr = e
			return
		}
		m, err := parseRoot(b)
		if err != nil {
			v.rootErr = &tiers.Error{Class: tiers.RootMissing, Text: "the trusted root cannot be read: " +
				phases.SafeLine(err.Error(), 200), Cause: err}
			return
		}
		v.material = m
	})
	return v.material, v.rootErr
}

func parseRoot(b []byte) (m root.TrustedMaterial, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if len(b) > tiers.MaxRoot {
		return nil, fmt.Errorf("larger than %d bytes", tiers.MaxRoot)
	}
	if !strictJSON(b) {
		return nil, fmt.Errorf("not JSON without duplicate names")
	}
	return root.NewTrustedRootFromJSON(b)
}

// CheckRoot returns an error if b is not the JSON of a trusted root.
func CheckRoot(b []byte) error {
	_, err := parseRoot(b)
	return err
}

func equalHex(hexDigest string, sum []byte) bool {
	b, err := hex.DecodeString(hexDigest)
	return err == nil && bytes.Equal(b, sum)
}
