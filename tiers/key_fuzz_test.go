package tiers_test

import (
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// A key file is one public key of a kind that is accepted, or an error that can be
// shown: it never says what a private key is.
func FuzzParseKey(f *testing.F) {
	k := makeKeys(f, 2)
	for _, name := range []string{"k0.pub", "k1.pub"} {
		b, err := k.read(name, tiers.MaxKeyFile)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(append(append([]byte("text\n"), b...), b...))
	}
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		key, err := tiers.ParseKey(src)
		if err != nil {
			if text := err.Error(); phases.SafeText(text, 512) != text {
				t.Fatalf("the error shows %q", text)
			}
			return
		}
		der, err := x509.MarshalPKIXPublicKey(key.Public)
		if err != nil {
			t.Fatal(err)
		}
		again, err := tiers.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		if err != nil || again.ID != key.ID || again.Kind != key.Kind {
			t.Fatalf("%+v is read again as %+v, %v", key, again, err)
		}
	})
}
