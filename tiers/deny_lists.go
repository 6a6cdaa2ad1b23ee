package tiers

import (
	"slices"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

// ParseDeny reads deny lists alone, as strictly as those of a policy. The error is of class PolicyUnusable.
func ParseDeny(src []byte) (Deny, error) {
	doc, err := strictyaml.Parse(src)
	var d Deny
	if err == nil {
		err = doc.Decode(&d)
	}
	if err == nil {
		err = policyParser{doc: doc}.deny(&d, "")
	}
	if err != nil {
		return Deny{}, policyError(err)
	}
	return d, nil
}

// Empty reports whether the lists deny nothing.
func (d *Deny) Empty() bool {
	return len(d.Digests)+len(d.Keys)+len(d.Identities)+len(d.Signatures) == 0
}

// Denying returns the policy with more entries in its deny lists, and nothing else changed. p stays as it is; p itself
// is returned when the entries are there already. The error is of class PolicyUnusable when they are too many.
// Preconditions: the entries come from ParseDeny.
func (p *Policy) Denying(more ...Deny) (*Policy, error) {
	out := *p
	out.Deny = Deny{slices.Clone(p.Deny.Digests), slices.Clone(p.Deny.Keys), slices.Clone(p.Deny.Identities),
		slices.Clone(p.Deny.Signatures)}
	changed := false
	add := func(to *[]string, from []string) {
		for _, s := range from {
			if !slices.Contains(*to, s) {
				*to, changed = append(*to, s), true
			}
		}
	}
	for i := range more {
		d := &more[i]
		add(&out.Deny.Digests, d.Digests)
		add(&out.Deny.Keys, d.Keys)
		add(&out.Deny.Signatures, d.Signatures)
		for _, id := range d.Identities {
			there := slices.ContainsFunc(out.Deny.Identities, func(o DeniedIdentity) bool {
				return o.Issuer == id.Issuer && o.Subject.Equal == id.Subject.Equal &&
					o.Subject.URLPrefix == id.Subject.URLPrefix && o.Subject.Regex == id.Subject.Regex
			})
			if !there {
				out.Deny.Identities, changed = append(out.Deny.Identities, id), true
			}
		}
	}
	if !changed {
		return p, nil
	}
	d := &out.Deny
	if n := len(d.Digests) + len(d.Keys) + len(d.Identities) + len(d.Signatures); n > maxDenied {
		return nil, &Error{Class: PolicyUnusable, Text: "with what other kernels deny, the deny lists have too many entries"}
	}
	if err := out.seal(); err != nil {
		return nil, policyError(err)
	}
	return &out, nil
}
