package cli_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/belay-hooks/belay/cmd/internal/cli"
	"github.com/belay-hooks/belay/cmd/internal/oci"
)

// signer makes what `cosign sign` leaves in a registry: a statement of type
// https://sigstore.dev/cosign/sign/v1 about the digest of the OCI manifest.
type signer struct {
	key  *ecdsa.PrivateKey
	spki []byte
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{key, spki}
}

func (s *signer) sign(t *testing.T, digest string) oci.Evidence {
	t.Helper()
	const payloadType = "application/vnd.in-toto+json"
	payload := fmt.Sprintf(
		`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`,
		strings.TrimPrefix(digest, "sha256:"))
	sum := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
	sig, err := ecdsa.SignASN1(rand.Reader, s.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256(s.spki)
	b64 := base64.StdEncoding.EncodeToString
	return oci.Evidence{Kind: oci.KindBundle, Bytes: fmt.Appendf(nil,
		`{"mediaType":%q,"verificationMaterial":{"publicKey":{"hint":%q}},"dsseEnvelope":{"payload":%q,"payloadType":%q,"signatures":[{"sig":%q}]}}`,
		oci.MediaTypeBundle, b64(id[:]), b64([]byte(payload)), payloadType, b64(sig))}
}

// machine is a state directory whose policy trusts one key.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T, s *signer) *machine {
	t.Helper()
	m := &machine{t, t.TempDir()}
	m.belay(cli.ExitOK, "init", "--empty")
	for name, text := range map[string][]byte{
		"k.pub":      pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: s.spki}),
		"trust.yaml": []byte("version: belay/v1\nrules:\n- name: team\n  allOf:\n  - publicKey: {file: k.pub}\n"),
	} {
		if err := os.WriteFile(filepath.Join(m.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *machine) belay(want int, args ...string) string {
	m.t.Helper()
	var out bytes.Buffer
	app := &cli.App{In: strings.NewReader(""), Out: &out, Err: &out, Getenv: func(string) string { return "" }}
	if code := app.Main(context.Background(), append(args, "--state", m.dir)); code != want {
		m.t.Fatalf("belay %s: exit %d, want %d:\n%s", strings.Join(args, " "), code, want, out.String())
	}
	return out.String()
}

// push → sign in the registry → pull or install on a machine that has nothing but
// the registry → trusted; and again without the registry.
func TestSignedInTheRegistry(t *testing.T) {
	for name, referrers := range map[string]bool{"referrers": true, "fallback": false} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)),
				registry.WithReferrersSupport(referrers)))
			defer srv.Close()
			ctx, client := context.Background(), oci.New(oci.Options{})
			ref := oci.Reference{Host: srv.Listener.Addr().String(), Repo: "team/guard", Tag: "1.0"}
			file, err := os.ReadFile("../../../tiers/sigstore/testdata/cosign/guard.wasm")
			if err != nil {
				t.Fatal(err)
			}
			team := newSigner(t)
			pushed, err := client.Push(ctx, ref, file, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Push(ctx, ref, file, []oci.Evidence{newSigner(t).sign(t, pushed.Ref.Digest)}); err != nil {
				t.Fatal(err)
			}
			m := newMachine(t, team)
			local := filepath.Join(t.TempDir(), "guard.wasm")
			if out := m.belay(cli.ExitOK, "hook", "pull", ref.String(), "-o", local); !strings.Contains(out, "sandboxed: ") {
				t.Errorf("signed by a stranger:\n%s", out)
			}
			m.belay(cli.ExitError, "hook", "install", pushed.Ref.String(), "--priority", "150")

			// A statement about another manifest is about another hook, wherever it is attached.
			other, err := client.Push(ctx, oci.Reference{Host: ref.Host, Repo: ref.Repo},
				append(bytes.Clone(file), 0, 2, 1, 'x'), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Push(ctx, ref, file, []oci.Evidence{team.sign(t, other.Ref.Digest)}); err != nil {
				t.Fatal(err)
			}
			m.belay(cli.ExitError, "hook", "install", pushed.Ref.String(), "--priority", "150")

			if _, err := client.Push(ctx, ref, file, []oci.Evidence{team.sign(t, pushed.Ref.Digest)}); err != nil {
				t.Fatal(err)
			}
			if out := m.belay(cli.ExitOK, "hook", "pull", ref.String(), "-o", local); !strings.Contains(out, "trusted: ") {
				t.Errorf("signed by the team:\n%s", out)
			}
			m.belay(cli.ExitOK, "hook", "install", pushed.Ref.String(), "--priority", "150")
			srv.Close()
			if out := m.belay(cli.ExitOK, "hook", "list"); !strings.Contains(out, "trusted") || strings.Contains(out, "BLOCKS") {
				t.Errorf("without the registry:\n%s", out)
			}

			// The statement counts only through the manifest: without it, it is about nothing here.
			kept, err := filepath.Glob(filepath.Join(m.dir, "blobs", "sha256", "*.manifest.json"))
			if err != nil || len(kept) != 1 {
				t.Fatalf("kept manifests: %v (%v)", kept, err)
			}
			if err := os.Remove(kept[0]); err != nil {
				t.Fatal(err)
			}
			if out := m.belay(cli.ExitOK, "hook", "list"); !strings.Contains(out, "BLOCKS") {
				t.Errorf("without the manifest:\n%s", out)
			}
		})
	}
}

func TestTransfersAreShownOnATerminal(t *testing.T) {
	srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer srv.Close()
	ref := "oci://" + srv.Listener.Addr().String() + "/guard:1.0"
	for _, terminal := range []bool{true, false} {
		var out, said bytes.Buffer
		app := &cli.App{In: strings.NewReader(""), Out: &out, Err: &said, Terminal: terminal,
			Getenv: func(string) string { return "" }}
		if code := app.Main(context.Background(),
			[]string{"hook", "push", "../../../tiers/sigstore/testdata/cosign/guard.wasm", ref}); code != cli.ExitOK {
			t.Fatalf("exit %d: %s", code, said.String())
		}
		if got := strings.Contains(said.String(), "module 259 B of 259 B"); got != terminal {
			t.Errorf("terminal %v: %q", terminal, said.String())
		}
		if terminal && !strings.HasSuffix(said.String(), "\r\x1b[K") {
			t.Errorf("the line stays: %q", said.String())
		}
	}
}
