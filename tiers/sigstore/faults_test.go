package sigstore

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/tiers"
)

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
