package config

import (
	"errors"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v4"

	"github.com/belay-hooks/belay/tiers"
)

// EmptyTrust is the trust policy that `belay trust init` writes: it trusts nobody.
const EmptyTrust = `# trust.yaml: whose signatures make a hook trusted. Without a rule nobody is.
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

// AddTrustRule returns the trust policy with the rule appended. Comments survive.
// Whether the result is valid is found out by tiers.ParsePolicy.
func AddTrustRule(src []byte, r tiers.Rule) ([]byte, error) {
	return editTrust(src, func(m *yaml.Node) error {
		n, err := nodeOf(r)
		if err != nil {
			return err
		}
		list := sequence(m, "rules")
		list.Content = append(list.Content, n)
		return nil
	})
}

// SetTrustedRoot returns the trust policy with that file as its trusted root.
func SetTrustedRoot(src []byte, file string) ([]byte, error) {
	return editTrust(src, func(m *yaml.Node) error {
		*child(m, "trustedRoot") = yaml.Node{Kind: yaml.ScalarNode, Value: file}
		return nil
	})
}

// AddDeny returns the trust policy with the entries appended to its deny lists.
func AddDeny(src []byte, d tiers.Deny) ([]byte, error) {
	return editTrust(src, func(m *yaml.Node) error {
		deny := child(m, "deny")
		if deny.Kind != yaml.MappingNode {
			*deny = yaml.Node{Kind: yaml.MappingNode}
		}
		deny.Style = 0
		add := func(name string, values ...any) error {
			for _, v := range values {
				n, err := nodeOf(v)
				if err != nil {
					return err
				}
				list := sequence(deny, name)
				list.Content = append(list.Content, n)
			}
			return nil
		}
		for name, values := range map[string][]string{"digests": d.Digests, "keys": d.Keys, "signatures": d.Signatures} {
			for _, v := range values {
				if err := add(name, v); err != nil {
					return err
				}
			}
		}
		for _, id := range d.Identities {
			if err := add("identities", id); err != nil {
				return err
			}
		}
		return nil
	})
}

func editTrust(src []byte, change func(m *yaml.Node) error) ([]byte, error) {
	out, err := editYAML(src, change)
	var e *Error
	if errors.As(err, &e) {
		return nil, &Error{Reason: "the trust policy: " + e.Reason, Cause: e.Cause}
	}
	return out, err
}

// child returns the value of a member, adding it when it is missing.
func child(m *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i+1]
		}
	}
	v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, v)
	return v
}

// sequence returns the list under a member, as a block list.
func sequence(m *yaml.Node, name string) *yaml.Node {
	n := child(m, name)
	if n.Kind != yaml.SequenceNode {
		*n = yaml.Node{Kind: yaml.SequenceNode}
	}
	n.Style = 0
	return n
}

// nodeOf turns a value into YAML by way of its JSON, so that the names of members
// stand in one place.
func nodeOf(v any) (*yaml.Node, error) {
	j, err := json.Marshal(v)
	if err != nil {
		return nil, &Error{Reason: "cannot be written", Cause: err}
	}
	var doc yaml.Node
	if err := yaml.Load(j, &doc); err != nil {
		return nil, &Error{Reason: "cannot be written", Cause: err}
	}
	n := &doc
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	block(n, 0)
	return n, nil
}
