package signing

import (
	"bytes"
	"errors"
	"testing"
)

func TestEd25519Key(t *testing.T) {
	private, public, err := GenerateEd25519([]byte("correct horse battery"))
	if err != nil || !bytes.Contains(private, []byte("ENCRYPTED SIGSTORE PRIVATE KEY")) {
		t.Fatalf("%s, %v", private, err)
	}
	ask := func(s string) Password { return func() ([]byte, error) { return []byte(s), nil } }
	key, err := OpenEd25519(private, ask("correct horse battery"))
	if err != nil || !public.Equal(key.Public()) {
		t.Errorf("%v", err)
	}
	for name, p := range map[string]Password{"another": ask("incorrect"), "none": ask(""), "nobody to ask": nil} {
		if _, err := OpenEd25519(private, p); !errors.Is(err, ErrPassword) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := GenerateEd25519(nil); !errors.Is(err, ErrPassword) {
		t.Errorf("no password: %v", err)
	}
	other, _, _, err := GenerateKey([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenEd25519(other, ask("x")); !errors.Is(err, ErrKey) {
		t.Errorf("an ECDSA key: %v", err)
	}
	if _, err := OpenEd25519([]byte("nonsense"), ask("x")); !errors.Is(err, ErrKey) {
		t.Errorf("no key: %v", err)
	}
}
