package sigstore

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/belay-hooks/belay/tiers"
)

// signer signs as a publisher does, with a key made for the test: package signing belongs to the commands.
type signer struct {
	key    *signature.ECDSASignerVerifier
	public tiers.Key
}

func (s *signer) Key() tiers.Key { return s.public }

// signerOf makes a P-256 key.
func signerOf(t testing.TB) *signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := tiers.NewKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	key, err := signature.LoadDefaultSignerVerifier(private)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{key.(*signature.ECDSASignerVerifier), public}
}

// signFile returns a bundle with a signature of the file.
func (s *signer) signFile(t testing.TB, file []byte) []byte {
	t.Helper()
	sig, err := s.key.SignMessage(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(file)
	out, err := json.Marshal(map[string]any{
		"mediaType":            mediaTypeBundle,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": s.public.ID}},
		"messageSignature": map[string]any{
			"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": sum[:]}, "signature": sig,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
