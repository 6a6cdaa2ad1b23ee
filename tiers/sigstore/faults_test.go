package sigstore

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"io/fs"
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
		s, err := NewSigner(c.key)
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

// TestPiecesThatPanic: a piece of evidence whose check panics does not count, nor does it stop the check of another.
func TestPiecesThatPanic(t *testing.T) {
	file := fixture(t, "guard.wasm")
	v := &verifier{
		keys:         []tiers.Key{publicKey(t, "c0.pub")},
		requirements: []tiers.Assurance{{Log: true}},
		root:         func() ([]byte, error) { panic("a root that bites") },
	}
	facts := v.Facts(file, []tiers.Evidence{
		bundleOf(certificateSeed), bundleOf(certificateSeed), bundleOf(fixture(t, "guard.c0.sigstore.json")),
	})
	if len(facts) != 3 {
		t.Fatalf("%d facts", len(facts))
	}
	wantCode(t, facts[0], tiers.BundleMalformed, "it cannot be read")
	for _, f := range facts[:2] { // the root is read once: there is none for the second, either
		if f.Problem == nil || f.KeyID != "" || f.Identity != nil || f.Source != "a bundle" {
			t.Errorf("%+v", f)
		}
	}
	if facts[2].Problem != nil || facts[2].KeyID == "" {
		t.Errorf("the good one: %+v, problem %v", facts[2], facts[2].Problem)
	}
}

// TestRootsThatCannotBeUsed: without a root no certificate counts, and the fact says why.
func TestRootsThatCannotBeUsed(t *testing.T) {
	file := fixture(t, "guard.wasm")
	own := &tiers.Error{Class: tiers.PolicyUnusable, Text: "its own words"}
	for name, c := range map[string]struct {
		b    []byte
		err  error
		code tiers.Code
		says string
	}{
		"an error":          {nil, fs.ErrPermission, tiers.RootMissing, "cannot be read"},
		"an error of tiers": {nil, own, tiers.PolicyUnusable, "its own words"},
		"nothing":           {nil, nil, tiers.RootMissing, "cannot be read: not JSON"},
		"a name twice":      {[]byte(`{"a":1,"a":1}`), nil, tiers.RootMissing, "without duplicate names"},
		"too large":         {bytes.Repeat([]byte(" "), tiers.MaxRoot+1), nil, tiers.RootMissing, "larger than"},
		"the largest":       {bytes.Repeat([]byte(" "), tiers.MaxRoot), nil, tiers.RootMissing, "not JSON"},
		"no root":           {[]byte(`{"mediaType":"x"}`), nil, tiers.RootMissing, "cannot be read: "},
	} {
		v := &verifier{requirements: []tiers.Assurance{{Log: true}}, root: func() ([]byte, error) { return c.b, c.err }}
		f := one(t, v, file, bundleOf(certificateSeed))
		wantCode(t, f, c.code, c.says)
		if c.err != nil && !errors.Is(f.Problem, c.err) {
			t.Errorf("%s: the cause is lost: %v", name, f.Problem)
		}
		if c.err == nil && CheckRoot(c.b) == nil {
			t.Errorf("%s: is a root", name)
		}
	}
}

// TestDetachedSignaturesAtTheirBounds: what no signature can be is said before a key is tried.
func TestDetachedSignaturesAtTheirBounds(t *testing.T) {
	file := fixture(t, "guard.wasm")
	known, empty := &verifier{keys: []tiers.Key{publicKey(t, "c0.pub")}}, &verifier{}
	wantCode(t, one(t, known, file, detachedOf(make([]byte, maxDetached+1))), tiers.BundleMalformed,
		"more than 8192 bytes")
	if f := one(t, known, file, detachedOf(make([]byte, maxDetached))); f.Problem == nil ||
		f.Problem.Class == tiers.BundleMalformed {
		t.Errorf("the largest: %+v, problem %v", f, f.Problem)
	}
	wantCode(t, one(t, known, file, detachedOf([]byte(" \n"))), tiers.BundleMalformed, "is empty")
	wantCode(t, one(t, known, file, detachedOf(nil)), tiers.BundleMalformed, "is empty")
	wantCode(t, one(t, empty, file, detachedOf(fixture(t, "guard.c0.sig"))), tiers.SignerNotTrusted, "has no keys")
	wantCode(t, one(t, known, file, tiers.Evidence{Kind: "odd", Name: "x"}), tiers.BundleMalformed, "not known")
	for _, kind := range []tiers.EvidenceKind{tiers.EvidenceBundle, tiers.EvidenceSignature, tiers.EvidenceManifest} {
		wantCode(t, one(t, known, file,
			tiers.Evidence{Kind: kind, Name: "x", Data: bytes.Repeat([]byte(" "), tiers.MaxEvidence+1)}),
			tiers.BundleMalformed, "larger than")
		if f := one(t, known, file,
			tiers.Evidence{Kind: kind, Name: "x", Data: bytes.Repeat([]byte(" "), tiers.MaxEvidence)}); f.Problem == nil ||
			strings.Contains(f.Problem.Text, "larger than") {
			t.Errorf("the largest %s: %v", kind, f.Problem)
		}
	}
}
