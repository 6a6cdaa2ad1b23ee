package signing

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/belay-hooks/belay/tiers"
)

// failingKey is a private key whose holder fails, or does something else than it is asked for.
type failingKey struct {
	signature.SignerVerifier
	public func() (crypto.PublicKey, error)
	sign   func(io.Reader) ([]byte, error)
}

func (k failingKey) PublicKey(o ...signature.PublicKeyOption) (crypto.PublicKey, error) {
	if k.public != nil {
		return k.public()
	}
	return k.SignerVerifier.PublicKey(o...)
}

func (k failingKey) SignMessage(m io.Reader, o ...signature.SignOption) ([]byte, error) {
	if k.sign != nil {
		return k.sign(m)
	}
	return k.SignerVerifier.SignMessage(m, o...)
}

// TestSignersThatFail: what a key that is elsewhere does not do is an error, and no bundle.
func TestSignersThatFail(t *testing.T) {
	file := fixture(t, "guard.wasm")
	good := signerOf(t, "P-256").s
	down := errors.New("the service is down")
	for name, c := range map[string]struct {
		key  failingKey
		want error
		says string
	}{
		"it signs":         {key: failingKey{SignerVerifier: good}},
		"it shows no key":  {failingKey{good, func() (crypto.PublicKey, error) { return nil, down }, nil}, down, ""},
		"a key of no kind": {failingKey{good, func() (crypto.PublicKey, error) { return "a text", nil }, nil}, nil, "key"},
		"it does not sign": {failingKey{good, nil, func(io.Reader) ([]byte, error) { return nil, down }}, down, ""},
		"it signs nothing": {failingKey{good, nil, func(io.Reader) ([]byte, error) { return []byte{1}, nil }}, nil,
			"does not verify"},
		"it signs by another": {failingKey{good, nil, func(m io.Reader) ([]byte, error) {
			return signerOf(t, "P-256").s.SignMessage(m)
		}}, nil, "does not verify"},
		"it signs something else": {failingKey{good, nil, func(io.Reader) ([]byte, error) {
			return good.SignMessage(strings.NewReader("x"))
		}}, nil, "does not verify"},
	} {
		s, err := newSigner(c.key)
		var out []byte
		if err == nil {
			out, err = s.SignFile(file)
		}
		switch {
		case c.want == nil && c.says == "":
			if err != nil || len(out) == 0 {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.Is(err, ErrKey) || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) ||
			out != nil:
			t.Errorf("%s: %d bytes, %v, want ErrKey with %v %q", name, len(out), err, c.want, c.says)
		}
	}
	if _, err := OpenKey(bytes.Repeat([]byte("x"), tiers.MaxKeyFile+1), nil); !errors.Is(err, ErrKey) ||
		!strings.Contains(err.Error(), "64 KiB") {
		t.Errorf("a large file: %v", err)
	}
	if _, err := OpenKey(bytes.Repeat([]byte("x"), tiers.MaxKeyFile), nil); !errors.Is(err, ErrKey) ||
		strings.Contains(err.Error(), "64 KiB") {
		t.Errorf("the largest file: %v", err)
	}
}
