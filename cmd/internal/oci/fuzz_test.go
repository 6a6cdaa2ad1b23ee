package oci

import (
	stdjson "encoding/json"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

func FuzzManifest(f *testing.F) {
	manifest, _, _ := Pack(module("a hook"))
	attached, _ := packEvidence(bundle("x"), describe(MediaTypeManifest, manifest))
	for _, s := range []string{string(manifest), string(attached), `{}`, `{"schemaVersion":2,"layers":[],"layers":[{}]}`,
		`{"schemaVersion":2,"config":null,"layers":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeManifest(b)
		if err != nil {
			return
		}
		if kind, l, err := m.evidence(phases.ByteDigest(manifest)); err == nil &&
			(l.Size < 1 || l.Size > MaxEvidence || kind.mediaType() != l.MediaType || !digestForm().MatchString(l.Digest)) {
			t.Errorf("accepted as evidence: %+v", m)
		}
		l, err := ModuleLayer(b)
		if err != nil {
			return
		}
		if l.Size < 1 || l.Size > MaxModule || l.MediaType != MediaTypeWasm || !digestForm().MatchString(l.Digest) ||
			len(l.URLs) > 0 {
			t.Errorf("accepted as a hook: %+v", m)
		}
		// Signing tools read with the standard library: they must see the same layer.
		var other struct {
			Layers []struct {
				Digest string
				Size   int64
			}
		}
		if err := stdjson.Unmarshal(b, &other); err != nil {
			t.Fatalf("accepted, but others cannot read it: %v", err)
		}
		if len(other.Layers) != 1 || other.Layers[0].Digest != l.Digest || other.Layers[0].Size != l.Size {
			t.Errorf("others see %+v, we see %+v", other.Layers, l)
		}
	})
}

func FuzzIndex(f *testing.F) {
	for _, s := range []string{`{"schemaVersion":2,"manifests":[]}`, `{"schemaVersion":2,"manifests":[{"mediaType":"` +
		MediaTypeManifest + `","digest":"` + phases.ByteDigest(nil) + `","size":1}]}`,
		`{"schemaVersion":2,"manifests":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeIndex(b)
		if err != nil {
			return
		}
		for _, d := range list {
			if !digestForm().MatchString(d.Digest) || d.Size < 0 || d.MediaType == "" {
				t.Errorf("kept: %+v", d)
			}
		}
	})
}

func FuzzReference(f *testing.F) {
	for _, s := range []string{"oci://127.0.0.1:5000/a/b:1.0", "oci://ghcr.io/a/b@" + phases.ByteDigest(nil),
		"oci://[::1]:5000/a:x@" + phases.ByteDigest(nil), "oci://a/b/../c", "oci://h%2f/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReference(s)
		if err != nil {
			return
		}
		again, err := ParseReference(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %+v, its text is %+v (%v)", s, r, again, err)
		}
		if _, err := New(Options{}).open(r); err != nil {
			t.Error(err)
		}
	})
}
