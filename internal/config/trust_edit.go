package config

import (
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/yamledit"
	"github.com/belay-hooks/belay/tiers"
)

// EmptyTrust is the trust policy that `belay trust init` writes: it trusts no
// signer.
const EmptyTrust = `# trust.yaml: whose signatures make a hook trusted. Without a rule none is.
# Hooks that come with the belay binary do not need one.
version: ` + tiers.PolicyVersion + `

# rules:
#   - name: release
#     anyOf:
#       minimumMatches: 2                # of these, each another signer
#       signers:
#         - publicKey: {file: alice.pub}
#         - publicKey: {file: bob.pub}
#     limits: {hooks: ["acme/*"], minimumVersion: 1.2.0}

# deny: {digests: [], keys: [], identities: [], signatures: []}
`

// AddTrustRule returns the trust policy with the rule appended; every other byte
// stays. Whether the result is valid is found out by tiers.ParsePolicy.
func AddTrustRule(src []byte, r tiers.Rule) ([]byte, error) {
	return addTrust(src, yamledit.Path{"rules"}, r)
}

// SetTrustedRoot returns the trust policy with that file as its trusted root.
func SetTrustedRoot(src []byte, file string) ([]byte, error) {
	out, err := yamledit.Set(src, yamledit.Path{"trustedRoot"}, text(file))
	if err != nil {
		return nil, trustError(err)
	}
	return out, nil
}

// AddDeny returns the trust policy with the entries appended to its deny lists.
// Entries that are denied already are left out.
func AddDeny(src []byte, d tiers.Deny) ([]byte, error) {
	have, err := denied(src)
	if err != nil {
		return nil, trustError(err)
	}
	for _, l := range []struct {
		name   string
		values []string
		have   []string
	}{{"digests", d.Digests, have.Digests}, {"keys", d.Keys, have.Keys}, {"signatures", d.Signatures, have.Signatures}} {
		for _, v := range l.values {
			if slices.Contains(l.have, v) {
				continue
			}
			if src, err = addTrust(src, yamledit.Path{"deny", l.name}, v); err != nil {
				return nil, err
			}
		}
	}
	for _, id := range d.Identities {
		if slices.Contains(have.Identities, id) {
			continue
		}
		if src, err = addTrust(src, yamledit.Path{"deny", "identities"}, id); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// denied reads the deny lists alone: the rest is read by those who use it.
func denied(src []byte) (tiers.Deny, error) {
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return tiers.Deny{}, err
	}
	var p struct {
		Deny tiers.Deny `json:"deny"`
	}
	return p.Deny, json.Unmarshal(doc.JSON, &p)
}

func addTrust(src []byte, path yamledit.Path, v any) ([]byte, error) {
	j, err := json.Marshal(v)
	if err == nil {
		src, err = yamledit.Append(src, path, j)
	}
	if err != nil {
		return nil, trustError(err)
	}
	return src, nil
}

func trustError(err error) error {
	return &Error{Reason: "the trust policy: " + err.Error(), Cause: err}
}
