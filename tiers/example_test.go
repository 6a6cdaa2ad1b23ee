package tiers_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// A policy names whose signatures make a hook trusted. A verifier finds facts in the evidence beside the hook, and
// the policy decides by them.
func ExamplePolicy_Evaluate() {
	public := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err)
	}
	readFile := func(string, int64) ([]byte, error) {
		return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
	}
	policy, err := tiers.ParsePolicy([]byte(`
version: belay/v1
rules:
- name: release
  allOf: [{name: release key, publicKey: {file: release.pub}}]
`), readFile)
	if err != nil {
		panic(err)
	}
	manifest := &tiers.Manifest{Name: "acme/guard", Version: "1.0.0"}
	fact := tiers.Fact{Kind: tiers.EvidenceSignature, KeyID: policy.Keys()[0].ID, Signature: "sha256:…"}

	signed := policy.Evaluate("sha256:…", manifest, []tiers.Fact{fact}, time.Now())
	fmt.Println(signed.Tier, "by rule", signed.Rule)

	unsigned := policy.Evaluate("sha256:…", manifest, nil, time.Now())
	fmt.Println(unsigned.Tier, unsigned.Code, errors.Is(unsigned.Err(), tiers.Unsigned))
	// Output:
	// trusted by rule release
	// sandboxed unsigned true
}

// The capabilities that a hook holds are those that its manifest asks for, its binding allows and its tier may have.
func ExampleEffective() {
	manifest := &tiers.Manifest{Capabilities: []tiers.WantedCapability{
		{Name: "rewrite", Reason: "masks secrets in arguments"}, {Name: "mint_lease", Reason: "lends access"},
	}}
	allowed, err := tiers.ParseCapability("rewrite:/args")
	if err != nil {
		panic(err)
	}
	for _, grant := range tiers.Effective(manifest, []tiers.Capability{allowed}, phases.Sandboxed) {
		fmt.Println(grant.Capability, "-", grant.Why)
	}
	// Output:
	// rewrite - granted in part: rewrite:/args
	// mint_lease - refused: no sandboxed hook may hold mint_lease
}
