package tiers

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// PolicyVersion is the only version of the format.
const PolicyVersion = "belay/v1"

// PolicyFile is the name of the trust policy in the state directory.
const PolicyFile = "trust.yaml"

// Limits of a trust policy.
const (
	MaxPolicy  = 1 << 20 // bytes of trust.yaml
	MaxKeyFile = 64 << 10
	MaxRoot    = 4 << 20 // bytes of a trusted root
	maxRules   = 64
	maxSlots   = 64 // of one rule
	maxDenied  = 4096
	maxRequire = 16 // statements of one rule
	maxNamed   = 64 // external parameters and levels of one statement
)

// Policy is trust.yaml: whose signatures make a hook trusted. It does not change
// after it was parsed. The zero value trusts no signer.
type Policy struct {
	Version     string `json:"version"`
	TrustedRoot string `json:"trustedRoot,omitzero"` // file; only keyless slots need it
	Rules       []Rule `json:"rules,omitzero"`
	Deny        Deny   `json:"deny,omitzero"`

	root    []byte
	rootErr error
	digest  string
}

// Rule is one way to be trusted: every slot of AllOf and enough slots of AnyOf
// are filled, each by another signer.
type Rule struct {
	Name   string `json:"name"` // unique; decisions name the rule by it
	AllOf  []Slot `json:"allOf,omitzero"`
	AnyOf  *AnyOf `json:"anyOf,omitzero"`
	Limits Limits `json:"limits,omitzero"`

	// Require lists statements that have to be there beside the signatures.
	Require []Attestation `json:"require,omitzero"`
}

// AnyOf is a threshold.
type AnyOf struct {
	MinimumMatches int    `json:"minimumMatches"` // from 1 to the number of signers
	Signers        []Slot `json:"signers"`
}

// Slot is one signer that a rule wants: a key or an identity, exactly one of them.
// Outside of its window a slot cannot be filled. For a key the time is now,
// because nothing proves when a key signed; for an identity it is the time that
// the transparency log or the timestamps prove.
type Slot struct {
	Name      string     `json:"name,omitzero"` // for people
	PublicKey *PublicKey `json:"publicKey,omitzero"`
	Keyless   *Keyless   `json:"keyless,omitzero"`
	NotBefore time.Time  `json:"notBefore,omitzero"`
	NotAfter  time.Time  `json:"notAfter,omitzero"`
}

// PublicKey is a key in PEM (SPKI): P-256, P-384, Ed25519, or RSA of 2048 bits and more.
type PublicKey struct {
	PEM  string `json:"pem,omitzero"`
	File string `json:"file,omitzero"` // beside trust.yaml, instead of PEM

	key Key
}

// Keyless is an identity in a short-lived certificate.
type Keyless struct {
	Issuer  string  `json:"issuer"` // of the identity token; compared exactly
	Subject Subject `json:"subject"`

	// UnsafeWithout lists proofs that this slot does without: "log" (an entry in
	// the transparency log), "certificateTimestamp" (the certificate's own entry).
	UnsafeWithout []string `json:"unsafeWithout,omitzero"`
}

// Subject matches the subject of a certificate in exactly one way.
type Subject struct {
	Equal     string `json:"equal,omitzero"`
	URLPrefix string `json:"urlPrefix,omitzero"` // matches at a path boundary
	Regex     string `json:"regex,omitzero"`     // RE2, matches the whole subject

	re *regexp.Regexp
}

// Limits say which hooks a rule vouches for. A member that is left out does not limit.
type Limits struct {
	// names; * stands for anything but /, /** at the end for everything below
	Hooks          []string       `json:"hooks,omitzero"`
	Capabilities   []string       `json:"capabilities,omitzero"`   // the most that the manifest may ask for
	Phases         []phases.Phase `json:"phases,omitzero"`         // the only ones that the manifest may serve
	MinimumVersion string         `json:"minimumVersion,omitzero"` // an older file stays signed, but not trusted
}

// Deny takes trust away. It wins over every rule.
type Deny struct {
	Digests    []string         `json:"digests,omitzero"`    // sha256:<hex> of files
	Keys       []string         `json:"keys,omitzero"`       // key ids
	Identities []DeniedIdentity `json:"identities,omitzero"` //
	Signatures []string         `json:"signatures,omitzero"` // ids, as `belay hook verify --json` prints them
}

// DeniedIdentity is a subject of one issuer, or of every issuer.
type DeniedIdentity struct {
	Issuer  string  `json:"issuer,omitzero"` // "" means every issuer
	Subject Subject `json:"subject"`
}

// Files returns the files that the policy names, as they are written there: the trusted root and keys.
func (p *Policy) Files() []string {
	var list []string
	add := func(name string) {
		if name != "" {
			list = append(list, name)
		}
	}
	add(p.TrustedRoot)
	for i := range p.Rules {
		slots := p.Rules[i].AllOf
		if some := p.Rules[i].AnyOf; some != nil {
			slots = slices.Concat(slots, some.Signers)
		}
		for _, slot := range slots {
			if slot.PublicKey != nil {
				add(slot.PublicKey.File)
			}
		}
	}
	return list
}

// Digest names what the policy means, with every file that it names: two policies
// with the same digest decide the same.
func (p *Policy) Digest() string { return p.digest }

// Keyless reports whether any rule has a slot for an identity, so that a trusted
// root is needed at all.
func (p *Policy) Keyless() bool {
	return slices.ContainsFunc(p.slots(), func(s *Slot) bool { return s.Keyless != nil })
}

// Root returns the trusted root's JSON. The error is of class RootMissing.
func (p *Policy) Root() ([]byte, error) {
	switch {
	case p.rootErr != nil:
		return nil, &Error{Class: RootMissing, Text: fmt.Sprintf("the trusted root %s cannot be read", clip(p.TrustedRoot)),
			Cause: p.rootErr}
	case p.root == nil:
		return nil, &Error{Class: RootMissing, Text: "trust.yaml names no trusted root"}
	}
	return p.root, nil
}

// Keys returns the keys of all slots, each once, in the order of their ids.
func (p *Policy) Keys() []Key {
	var out []Key
	for _, s := range p.slots() {
		if s.PublicKey == nil {
			continue
		}
		k := s.PublicKey.key
		if i, found := slices.BinarySearchFunc(out, k.ID, func(a Key, id string) int {
			return strings.Compare(a.ID, id)
		}); !found {
			out = slices.Insert(out, i, k)
		}
	}
	return out
}

// Requirements returns what the policy's identities may do without, each set once,
// the strictest first.
func (p *Policy) Requirements() []Assurance {
	var out []Assurance
	for _, s := range p.slots() {
		if s.Keyless != nil {
			if a := s.Keyless.wants(); !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	slices.SortFunc(out, func(a, b Assurance) int { return b.strength() - a.strength() })
	return out
}

// NextChange returns the next time after now at which a window opens or closes,
// or the zero time.
func (p *Policy) NextChange(now time.Time) time.Time {
	var next time.Time
	for _, s := range p.slots() {
		for _, t := range []time.Time{s.NotBefore, s.NotAfter} {
			if t.After(now) && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
	}
	return next
}

func (p *Policy) slots() []*Slot {
	var out []*Slot
	for i := range p.Rules {
		r := &p.Rules[i]
		for j := range r.AllOf {
			out = append(out, &r.AllOf[j])
		}
		if r.AnyOf != nil {
			for j := range r.AnyOf.Signers {
				out = append(out, &r.AnyOf.Signers[j])
			}
		}
		for j := range r.Require {
			for k := range r.Require[j].Signers {
				out = append(out, &r.Require[j].Signers[k])
			}
		}
	}
	return out
}

// seal computes the digest over the members and everything that they name.
func (p *Policy) seal() error {
	b, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return err
	}
	h := sha256.New()
	part := func(b []byte) { fmt.Fprintf(h, "%d:", len(b)); h.Write(b) }
	part(b)
	for _, s := range p.slots() {
		if s.PublicKey != nil {
			part([]byte(s.PublicKey.key.ID))
		}
	}
	part(p.root)
	if p.rootErr != nil {
		part([]byte("no root"))
	}
	p.digest = phases.SumDigest(h.Sum(nil))
	return nil
}
