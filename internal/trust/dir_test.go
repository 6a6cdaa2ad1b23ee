package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// A program that verifies no signatures follows a policy as far as it needs none, and
// refuses the others as a whole: whom they deny, it could not tell.
func TestWithoutWhatVerifiesSignatures(t *testing.T) {
	signed := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join("..", "..", "tiers", "sigstore", "testdata", "cosign", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	file := signed("guard.wasm")
	evidence := []tiers.Evidence{
		{Kind: tiers.EvidenceBundle, Name: "guard.wasm.sigstore.json", Data: signed("guard.c0.sigstore.json")},
		{Kind: tiers.EvidenceManifest, Name: "guard.wasm.manifest.json", Data: []byte("{}")},
	}
	key, err := tiers.ParseKey(signed("c0.pub"))
	if err != nil {
		t.Fatal(err)
	}
	rule := "rules:\n- name: release\n  allOf:\n  - publicKey: {pem: " +
		strings.ReplaceAll(`"`+string(signed("c0.pub"))+`"`, "\n", `\n`) + "}\n"
	const nothing = tiers.Code("")
	for _, c := range []struct {
		name, policy  string
		with, without tiers.Code // of the decision; PolicyUnusable: there is none
	}{
		{"no policy", "", tiers.SignerNotTrusted, tiers.SignerNotTrusted},
		{"a policy that says nothing", "{version: belay/v1}", tiers.SignerNotTrusted, tiers.SignerNotTrusted},
		{"another file is denied", "{version: belay/v1, deny: {digests: ['sha256:" + strings.Repeat("0", 64) + "']}}",
			tiers.SignerNotTrusted, tiers.SignerNotTrusted},
		{"the file is denied", "{version: belay/v1, deny: {digests: ['" + phases.ByteDigest(file) + "']}}", tiers.Revoked,
			tiers.Revoked},
		{"the signer is trusted", "version: belay/v1\n" + rule, nothing, tiers.PolicyUnusable},
		{"the signer is denied", "version: belay/v1\n" + rule + "deny: {keys: ['" + key.ID + "']}\n", tiers.Revoked,
			tiers.PolicyUnusable},
		{"a key is denied, and nothing else said", "{version: belay/v1, deny: {keys: ['" + key.ID + "']}}",
			tiers.SignerNotTrusted, tiers.PolicyUnusable},
		{"an identity is denied", "{version: belay/v1, deny: {identities: [{subject: {equal: x}}]}}",
			tiers.SignerNotTrusted, tiers.PolicyUnusable},
		{"a signature is denied", "{version: belay/v1, deny: {signatures: ['sha256:" + strings.Repeat("0", 64) + "']}}",
			tiers.SignerNotTrusted, tiers.PolicyUnusable},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := trust.Dir{Path: t.TempDir()}
			if c.policy != "" {
				if err := os.WriteFile(filepath.Join(dir.Path, tiers.PolicyFile), []byte(c.policy), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := dir.Open(nil).Decision(file, evidence)
			if c.without == tiers.PolicyUnusable {
				if !errors.Is(err, tiers.PolicyUnusable) || !strings.Contains(err.Error(), "Options.Signatures") {
					t.Errorf("without: %+v, %v", d, err)
				}
				if r := dir.Open(nil).Revision(); r != "unusable" {
					t.Errorf("revision %s", r)
				}
			} else if err != nil || d.Code != c.without || d.Tier == phases.Trusted {
				t.Errorf("without: %+v, %v", d, err)
			}
			dir.Signatures = sigstore.New
			if d, err := dir.Open(nil).Decision(file, evidence[:1]); err != nil || d.Code != c.with ||
				(d.Tier == phases.Trusted) != (c.with == nothing) {
				t.Errorf("with: %+v, %v", d, err)
			}
		})
	}
}

// While trust.yaml cannot be read, a verifier holds files against the last one that could; without one it refuses all.
func TestDeniedByTheLastPolicyThatCouldBeRead(t *testing.T) {
	dir := trust.Dir{Path: t.TempDir()}
	write := func(policy string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir.Path, tiers.PolicyFile), []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bad, other := "sha256:"+strings.Repeat("ab", 32), "sha256:"+strings.Repeat("cd", 32)
	const broken = "{version: belay/v1, x: y}"
	write(broken)
	v := dir.Open(nil)
	for _, digest := range []string{bad, other} {
		if err := v.Denied(digest); !errors.Is(err, tiers.PolicyUnusable) {
			t.Errorf("nothing could be read yet: %v", err)
		}
	}
	if d, err := v.Decision([]byte("x"), nil); !errors.Is(err, tiers.PolicyUnusable) {
		t.Errorf("%+v, %v", d, err)
	}
	write("{version: belay/v1, deny: {digests: ['" + bad + "']}}")
	v.Refresh()
	write(broken)
	if !v.Refresh() || v.Problem() == "" || v.InUse() != nil {
		t.Fatal("the fault is not seen")
	}
	if err := v.Denied(bad); !errors.Is(err, tiers.Revoked) {
		t.Errorf("denied before the fault: %v", err)
	}
	if err := v.Denied(other); err != nil {
		t.Errorf("not denied before the fault: %v", err)
	}
	if _, err := v.Prove(other, []byte("x"), nil, nil); !errors.Is(err, tiers.PolicyUnusable) {
		t.Errorf("a file from outside: %v", err)
	}
	if err := os.Remove(filepath.Join(dir.Path, tiers.PolicyFile)); err != nil {
		t.Fatal(err)
	}
	if v.Refresh(); v.Denied(bad) != nil {
		t.Error("the file is gone: nothing is denied")
	}
}

// A digest on the deny list is denied although the rest of the policy cannot be
// used.
func TestDigestsAreDeniedWithoutSignatures(t *testing.T) {
	dir := trust.Dir{Path: t.TempDir()}
	digest := "sha256:" + strings.Repeat("ab", 32)
	policy := "{version: belay/v1, deny: {digests: ['" + digest + "'], identities: [{subject: {equal: x}}]}}"
	if err := os.WriteFile(filepath.Join(dir.Path, tiers.PolicyFile), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dir.Open(nil).Denied(digest); !errors.Is(err, tiers.Revoked) {
		t.Error(err)
	}
	if err := dir.Open(nil).Denied("sha256:" + strings.Repeat("cd", 32)); err != nil {
		t.Error(err)
	}
}
