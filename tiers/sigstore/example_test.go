package sigstore_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// A verifier finds facts in the evidence beside a hook, and the policy decides by them. The bundle here was made by
// cosign, and belongs to the file guard.wasm.
func Example() {
	read := func(name string, _ int64) ([]byte, error) { return os.ReadFile("testdata/cosign/" + name) }
	policy, err := tiers.ParsePolicy([]byte(`
version: belay/v1
rules:
- name: release
  allOf: [{publicKey: {file: c0.pub}}]
`), read)
	if err != nil {
		panic(err)
	}
	file, err := read("guard.wasm", 1<<20)
	if err != nil {
		panic(err)
	}
	bundle, err := read("guard.c0.sigstore.json", tiers.MaxEvidence)
	if err != nil {
		panic(err)
	}
	verifier := sigstore.New(policy)
	evidence := []tiers.Evidence{{Kind: tiers.EvidenceBundle, Name: "guard.c0.sigstore.json", Data: bundle}}

	facts := verifier.Facts(file, evidence)
	fmt.Println(policy.Evaluate("sha256:…", nil, facts, time.Now()).Tier)

	changed := verifier.Facts(append(file, 0), evidence)
	fmt.Println(errors.Is(changed[0].Problem, tiers.SignatureInvalid))
	// Output:
	// trusted
	// true
}
