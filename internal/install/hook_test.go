package install_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// state is a state directory whose trust policy is followed.
func state(dir string) trust.Dir { return trust.Dir{Path: dir, Signatures: sigstore.New} }

func signedFixture(name string) string {
	return filepath.Join("..", "..", "tiers", "sigstore", "testdata", "cosign", name)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func writePolicy(t *testing.T, dir, deny string) {
	t.Helper()
	key := strings.ReplaceAll(string(readFile(t, signedFixture("c0.pub"))), "\n", "\n        ")
	writeFile(t, filepath.Join(dir, tiers.PolicyFile),
		"version: belay/v1\nrules:\n- name: release\n  allOf:\n  - publicKey:\n      pem: |\n        "+key+"\n"+deny)
}

// A hook is bound as far as the policy trusts it, and refused where it relies on more.
func TestInstallByTrust(t *testing.T) {
	guard := readFile(t, signedFixture("guard.wasm"))
	good := tiers.Evidence{Kind: tiers.EvidenceBundle, Name: "a",
		Data: readFile(t, signedFixture("guard.c0.sigstore.json"))}
	for _, c := range []struct {
		name, deny string
		evidence   []tiers.Evidence
		priority   int
		want       string
	}{
		{"signed", "", []tiers.Evidence{good}, 100, ""},
		{"unsigned with a high priority", "", nil, 100, "unsigned"},
		{"unsigned", "", nil, 0, ""},
		{"denied", "deny: {digests: ['sha256:6e33aa72a6be274e0c22a03bca171026c5d27c5acbe4a991d4044fd522ab8094']}\n",
			[]tiers.Evidence{good}, 0, "deny list"},
		{"policy that cannot be used", "x: y\n", []tiers.Evidence{good}, 0, "unknown member"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, config.FileName), config.Empty)
			writePolicy(t, dir, c.deny)
			_, _, err := install.Hook(t.Context(), state(dir),
				install.Request{File: guard, Evidence: c.evidence, Priority: c.priority})
			if c.want == "" && err != nil || c.want != "" &&
				(!errors.Is(err, install.ErrRefused) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Every piece of evidence is kept once beside the module, and only evidence is read.
func TestEvidenceIsStored(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, config.FileName), config.Empty)
	writePolicy(t, dir, "")
	first := []tiers.Evidence{{Kind: tiers.EvidenceBundle, Name: "guard.wasm.sigstore.json",
		Data: readFile(t, signedFixture("guard.c0.sigstore.json"))}}
	if _, _, err := install.Hook(t.Context(), state(dir),
		install.Request{Name: "one", File: readFile(t, signedFixture("guard.wasm")), Evidence: first}); err != nil {
		t.Fatal(err)
	}
	more := []tiers.Evidence{
		{Kind: tiers.EvidenceBundle, Name: "the same again", Data: readFile(t, signedFixture("guard.c0.sigstore.json"))},
		{Kind: tiers.EvidenceBundle, Name: "another", Data: readFile(t, signedFixture("guard.c1.sigstore.json"))},
		{Kind: tiers.EvidenceSignature, Name: "x.sig", Data: readFile(t, signedFixture("guard.c1.sig"))},
		{Kind: tiers.EvidenceManifest, Name: "m", Data: []byte("{}")},
	}
	if _, _, err := install.Hook(t.Context(), state(dir),
		install.Request{Name: "two", File: readFile(t, signedFixture("guard.wasm")), Evidence: more}); err != nil {
		t.Fatal(err)
	}
	blob := filepath.Join(dir, "blobs", "sha256", "6e33aa72a6be274e0c22a03bca171026c5d27c5acbe4a991d4044fd522ab8094")
	for _, suffix := range []string{"", ".sigstore.json", ".1.sigstore.json", ".sig", ".manifest.json"} {
		if _, err := os.Stat(blob + suffix); err != nil {
			t.Error(err)
		}
	}
	got, err := trust.ReadEvidence(blob)
	if err != nil || len(got) != 4 {
		t.Errorf("%d pieces, %v", len(got), err)
	}
	// What merely looks like evidence of the file is not read.
	writeFile(t, blob+"x.sigstore.json", "{}")
	writeFile(t, blob+".sigstore.json.bak", "{}")
	if got, err := trust.ReadEvidence(blob); err != nil || len(got) != 4 {
		t.Errorf("%d pieces, %v", len(got), err)
	}
	var many []tiers.Evidence
	for i := range tiers.MaxEvidenceList + 1 {
		many = append(many, tiers.Evidence{Kind: tiers.EvidenceBundle, Data: fmt.Appendf(nil, "%d", i)})
	}
	if _, _, err := install.Hook(t.Context(), state(dir),
		install.Request{Name: "three", File: readFile(t, signedFixture("guard.wasm")), Evidence: many}); err == nil {
		t.Error("more evidence was kept than is ever looked at")
	}
}
