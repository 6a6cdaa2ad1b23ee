package signing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
	"github.com/belay-hooks/belay/tiers/sigstore/sigstoretest"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "cosign", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// keylessVerifier trusts w's root, and wants of certificates what is given.
func keylessVerifier(t *testing.T, w *sigstoretest.World, want tiers.Assurance) tiers.EvidenceVerifier {
	t.Helper()
	var without []string
	if !want.Log {
		without = append(without, "log")
	}
	if !want.CertificateTimestamp {
		without = append(without, "certificateTimestamp")
	}
	src := `version: belay/v1
trustedRoot: root.json
rules:
- name: people
  allOf:
  - keyless:
      issuer: https://issuer.example
      subject: {equal: release@acme.example}
      unsafeWithout: [` + strings.Join(without, ", ") + "]\n"
	p, err := tiers.ParsePolicy([]byte(src), func(string, int64) ([]byte, error) { return w.Root(), nil })
	if err != nil {
		t.Fatal(err)
	}
	return sigstore.New(p)
}

// bundleOf is a bundle as evidence.
func bundleOf(data []byte) tiers.Evidence {
	return tiers.Evidence{Kind: tiers.EvidenceBundle, Name: "e", Data: data}
}

// one returns the only fact about the piece.
func one(t testing.TB, v tiers.EvidenceVerifier, file []byte, e tiers.Evidence) tiers.Fact {
	t.Helper()
	facts := v.Facts(file, []tiers.Evidence{e})
	if len(facts) != 1 {
		t.Fatalf("%d facts", len(facts))
	}
	return facts[0]
}

func wantCode(t testing.TB, f tiers.Fact, code tiers.Code, says string) {
	t.Helper()
	if f.Problem == nil || f.Problem.Class != code || !strings.Contains(f.Problem.Text, says) {
		t.Errorf("got %+v (problem %v), want %q with %q", f, f.Problem, code, says)
	}
}
