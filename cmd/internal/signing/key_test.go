package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "tiers", "sigstore", "testdata", "cosign", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func bundleOf(data []byte) tiers.Evidence {
	return tiers.Evidence{Kind: tiers.EvidenceBundle, Name: "a bundle", Data: data}
}

func one(t testing.TB, v tiers.EvidenceVerifier, file []byte, e ...tiers.Evidence) tiers.Fact {
	t.Helper()
	facts := v.Facts(file, e)
	if len(facts) != 1 {
		t.Fatalf("%d facts: %+v", len(facts), facts)
	}
	return facts[0]
}

func wantCode(t testing.TB, f tiers.Fact, code tiers.Code, says string) {
	t.Helper()
	if f.Problem == nil || f.Problem.Class != code || !strings.Contains(f.Problem.Text, says) {
		t.Errorf("got %+v (problem %v), want %q with %q", f, f.Problem, code, says)
	}
}

// signerOf makes a key of a kind, in PKCS #8.
func signerOf(t testing.TB, kind string) *Signer {
	t.Helper()
	var priv crypto.PrivateKey
	var err error
	switch kind {
	case "P-256":
		priv, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "P-384":
		priv, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "Ed25519":
		_, priv, err = ed25519.GenerateKey(rand.Reader)
	case "RSA":
		priv, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSignAndVerify(t *testing.T) {
	file := fixture(t, "guard.wasm")
	for _, kind := range []string{"P-256", "P-384", "Ed25519", "RSA"} {
		t.Run(kind, func(t *testing.T) {
			s := signerOf(t, kind)
			out, err := s.SignFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f := one(t, sigstore.NewVerifier([]tiers.Key{s.Key()}, nil, nil), file, bundleOf(out))
			if f.Problem != nil || f.KeyID != s.Key().ID {
				t.Errorf("%+v, problem %v", f, f.Problem)
			}
			if bytes.Contains(out, []byte(`, "`)) {
				t.Error("white space in what should be compact")
			}
		})
	}
}

func TestKeysOfOthersAndOurs(t *testing.T) {
	password := func(p string) Password { return func() ([]byte, error) { return []byte(p), nil } }
	s, err := OpenKey(fixture(t, "c0.key"), password("pw"))
	public, perr := tiers.ParseKey(fixture(t, "c0.pub"))
	if err != nil || perr != nil || s.Key().ID != public.ID {
		t.Fatalf("%v, %v", err, perr)
	}
	if _, err := OpenKey(fixture(t, "c0.key"), password("no")); !errors.Is(err, ErrPassword) {
		t.Errorf("wrong password: %v", err)
	}
	if _, err := OpenKey(fixture(t, "c0.key"), nil); !errors.Is(err, ErrPassword) {
		t.Errorf("no password: %v", err)
	}
	if _, err := OpenKey(fixture(t, "c0.pub"), nil); !errors.Is(err, ErrKey) {
		t.Errorf("public key: %v", err)
	}
	if _, err := OpenKey([]byte("x"), nil); !errors.Is(err, ErrKey) {
		t.Errorf("garbage: %v", err)
	}
	for _, pw := range []string{"", "secret"} {
		private, public, key, err := GenerateKey([]byte(pw))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(private, []byte("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----")) ||
			!bytes.HasPrefix(public, []byte("-----BEGIN PUBLIC KEY-----")) {
			t.Errorf("%.50s %.50s", private, public)
		}
		if s, err := OpenKey(private, password(pw)); err != nil || s.Key().ID != key.ID {
			t.Errorf("password %q: %v", pw, err)
		}
		if _, err := OpenKey(private, password("other")); !errors.Is(err, ErrPassword) {
			t.Errorf("password %q opened by another: %v", pw, err)
		}
	}
}
