package sigstore

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// TestSignedFindingsAgainstAHook: a verification summary that says FAILED, signed by the key of a rule, makes nothing
// trusted. The same summary with PASSED is what a rule can require beside a signature.
func TestSignedFindingsAgainstAHook(t *testing.T) {
	file, s := fixture(t, "guard.wasm"), signerOf(t)
	summary := func(result string) tiers.Evidence {
		return bundleOf(statementBundle(t, s,
			fmt.Sprintf(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"%x"}}],`+
				`"predicateType":"https://slsa.dev/verification_summary/v1","predicate":{"verifier":{"id":"https://v.example"},`+
				`"timeVerified":"2026-02-01T00:00:00Z","resourceUri":"guard","policy":{"uri":"p"},"verificationResult":"%s","verifiedLevels":[]}}`,
				sha256.Sum256(file), result)))
	}
	signature := s.signFile(t, file)
	decide := func(require string, evidence ...tiers.Evidence) tiers.Decision {
		p, err := tiers.ParsePolicy([]byte("version: belay/v1\nrules:\n- name: one\n  allOf: [{publicKey: {file: k.pub}}]\n"+
			require),
			func(string, int64) ([]byte, error) {
				der, err := x509.MarshalPKIXPublicKey(s.Key().Public)
				return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
			})
		if err != nil {
			t.Fatal(err)
		}
		return p.Evaluate(fmt.Sprintf("sha256:%x", sha256.Sum256(file)), nil, New(p).Facts(file, evidence), time.Now())
	}
	const require = "  require: [{predicateType: 'https://slsa.dev/verification_summary/v1', verifier: 'https://v.example'}]\n"
	for _, c := range []struct {
		name, require string
		evidence      []tiers.Evidence
		code          tiers.Code
	}{
		{"failed", "", []tiers.Evidence{summary("FAILED")}, tiers.NotAnApproval},
		{"passed", "", []tiers.Evidence{summary("PASSED")}, tiers.NotAnApproval},
		{"signed", "", []tiers.Evidence{bundleOf(signature)}, ""},
		{"signed, and required", require, []tiers.Evidence{bundleOf(signature)}, tiers.AttestationMissing},
		{"signed, failed", require, []tiers.Evidence{bundleOf(signature), summary("FAILED")}, tiers.AttestationMissing},
		{"signed, passed", require, []tiers.Evidence{bundleOf(signature), summary("PASSED")}, ""},
		{"passed, not signed", require, []tiers.Evidence{summary("PASSED")}, tiers.NotAnApproval},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := decide(c.require, c.evidence...); d.Code != c.code || (d.Tier == phases.Trusted) != (c.code == "") {
				t.Errorf("%s, %s: %s", d.Tier, d.Code, d.Why)
			}
		})
	}
}

// TestStatementsReadInTwoWays: a statement that tools which fold letters read as another one is refused.
func TestStatementsReadInTwoWays(t *testing.T) {
	file, s := fixture(t, "guard.wasm"), signerOf(t)
	v := &verifier{keys: []tiers.Key{s.Key()}}
	for _, extra := range []string{`"PredicateType":"https://slsa.dev/verification_summary/v1",`, `"SUBJECT":[],`,
		`"Predicate":{"result":"FAILED"},`} {
		payload := fmt.Sprintf(
			`{"_type":"https://in-toto.io/Statement/v1",%s"subject":[{"digest":{"sha256":"%x"}}],"predicateType":"%s","predicate":{}}`,
			extra, sha256.Sum256(file), tiers.PredicateSignature)
		wantCode(t, one(t, v, file, bundleOf(statementBundle(t, s, payload))), tiers.BundleMalformed, "other letters")
	}
}
