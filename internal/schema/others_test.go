package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/tiers"
)

const largePolicy = `version: belay/v1
trustedRoot: root.json
rules:
- name: team
  allOf:
  - name: anna
    publicKey: {pem: "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"}
    notBefore: 2026-01-01T00:00:00Z
    notAfter: 2027-01-01T00:00:00Z
  limits: {hooks: ["acme/*"], capabilities: [block], phases: [pre_tool], minimumVersion: 1.2.3}
- name: ci
  anyOf:
    minimumMatches: 1
    signers:
    - keyless: {issuer: "https://accounts.example", subject: {equal: a@b.example}, unsafeWithout: [log]}
    - keyless: {issuer: "https://accounts.example", subject: {urlPrefix: "https://github.com/acme/"}}
    - keyless: {issuer: "https://accounts.example", subject: {regex: "a+"}}
deny:
  digests: ["sha256:08331020c18afccb52589dc1462b92d417f8b97ad1d1bc3ce7cff466f6de6cc4"]
  signatures: ["sha256:08331020c18afccb52589dc1462b92d417f8b97ad1d1bc3ce7cff466f6de6cc4"]
  keys: ["8aH4MxeO1oE8SUQ/sDmzsJSKudoyxnuUoUz8TXgFBrY="]
  identities: [{issuer: "https://accounts.example", subject: {equal: m@b.example}}]
`

// samplesOf reads files of the repository.
func samplesOf(t *testing.T, patterns ...string) []string {
	t.Helper()
	var out []string
	for _, p := range patterns {
		files, err := filepath.Glob(filepath.Join("../..", p))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(b))
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d files", len(out))
	}
	return out
}

// Of these files a schema says less than their decoder, and never the contrary: what an editor
// marks is wrong.
func TestOtherSchemasAgreeWithTheirDecoders(t *testing.T) {
	for _, c := range []struct {
		name    string
		n       int
		samples []string
		decode  func([]byte) error
	}{
		{"trust", 400, []string{largePolicy, "version: belay/v1\nrules: []\n"}, func(src []byte) error {
			_, err := tiers.ParsePolicy(src, func(string, int64) ([]byte, error) { return []byte("{}"), nil })
			return err
		}},
		{"rules", 400, samplesOf(t, "examples-rules/*.yaml"), func(src []byte) error {
			_, err := rules.Parse("rules.yaml", src)
			return err
		}},
		{"manifest", 400, samplesOf(t, "examples-wasm/*/belay.yaml"), func(src []byte) error {
			_, err := tiers.ParseManifestSource(src)
			return err
		}},
		{"suite", 100, samplesOf(t, "examples-wasm/*/cases/*.yaml"), func(src []byte) error {
			_, err := suite.Parse(src)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			agree(t, c.name, c.samples, c.n, c.decode, func(error) bool { return true }, 40)
		})
	}
}
