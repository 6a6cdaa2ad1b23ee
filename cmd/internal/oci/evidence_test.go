package oci

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
	"github.com/google/go-cmp/cmp"
)

func bundle(text string) Evidence { return Evidence{Kind: KindBundle, Bytes: []byte(text)} }

func texts(p *Pulled) []string {
	var s []string
	for _, e := range p.Evidence {
		s = append(s, string(e.Kind)+" "+string(e.Bytes))
	}
	slices.Sort(s)
	return s
}

func TestEvidenceComesAlong(t *testing.T) {
	f := newFake(t)
	r := f.attach(t, bundle("one"))
	f.attach(t, Evidence{Kind: KindSignature, Bytes: []byte("c2ln")})
	p, err := pull(Options{}, f.pinned())
	if err != nil {
		t.Fatal(err)
	}
	want := Evidence{Kind: KindBundle, Bytes: []byte("one"), MediaType: MediaTypeBundle, Digest: phases.ByteDigest([]byte("one")),
		Subject: f.digest, Referrer: r}
	if d := cmp.Diff(want, p.Evidence[0]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"bundle one", "signature c2ln"}, texts(p)); d != "" {
		t.Error(d)
	}
}

// Lists of referrers are hints: types may be missing or be the config's, and
// only the referrer's own manifest gives its type and its subject.
func TestListsAreOnlyHints(t *testing.T) {
	f := newFake(t)
	f.attach(t, bundle("untyped"))
	f.attach(t, bundle("typed as its config"))
	f.referrers[1].ArtifactType = MediaTypeEmpty
	f.attach(t, bundle("typed"))
	f.referrers[2].ArtifactType = MediaTypeBundle
	sbom := encode(t, Manifest{SchemaVersion: 2, MediaType: MediaTypeManifest, ArtifactType: "application/spdx+json",
		Config: describe(MediaTypeEmpty, emptyConfig()), Layers: []Descriptor{describe("application/spdx+json", []byte("s"))},
		Subject: &Descriptor{MediaType: MediaTypeManifest, Digest: f.digest, Size: 1}})
	f.attachRaw(sbom)
	f.referrers[3].ArtifactType = MediaTypeBundle // a lie
	p, err := pull(Options{}, f.pinned())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"bundle typed", "bundle typed as its config", "bundle untyped"}, texts(p)); d != "" {
		t.Error(d)
	}
	if len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0].Why, "spdx") {
		t.Errorf("skipped: %v", p.Skipped)
	}
}

// Broken and foreign referrers are listed, and a good one beside them counts.
func TestBrokenReferrersAreSkipped(t *testing.T) {
	subject := func(f *fake) *Descriptor {
		return &Descriptor{MediaType: MediaTypeManifest, Digest: f.digest, Size: int64(len(f.manifest))}
	}
	good := func(f *fake, b string) Manifest {
		f.addBlob([]byte(b))
		return Manifest{SchemaVersion: 2, MediaType: MediaTypeManifest, ArtifactType: MediaTypeBundle,
			Config: describe(MediaTypeEmpty, emptyConfig()), Layers: []Descriptor{describe(MediaTypeBundle, []byte(b))},
			Subject: subject(f)}
	}
	for _, c := range []struct {
		name string
		put  func(t *testing.T, f *fake)
		why  error
	}{
		{"another hook's", func(t *testing.T, f *fake) {
			m := good(f, "x")
			m.Subject.Digest = phases.ByteDigest([]byte("another manifest"))
			f.attachRaw(encode(t, m))
		}, ErrLayout},
		{"of no signer", func(t *testing.T, f *fake) {
			m := good(f, "x")
			m.Subject = nil
			f.attachRaw(encode(t, m))
		}, ErrLayout},
		{"of two layers", func(t *testing.T, f *fake) {
			m := good(f, "x")
			m.Layers = append(m.Layers, m.Layers[0])
			f.attachRaw(encode(t, m))
		}, ErrLayout},
		{"of another layer type", func(t *testing.T, f *fake) {
			m := good(f, "x")
			m.Layers[0].MediaType = "text/plain"
			f.attachRaw(encode(t, m))
		}, ErrMediaType},
		{"too large", func(t *testing.T, f *fake) {
			m := good(f, "x")
			m.Layers[0].Size = MaxEvidence + 1
			f.attachRaw(encode(t, m))
		}, ErrTooLarge},
		{"a larger manifest announced", func(t *testing.T, f *fake) {
			f.attach(t, bundle("x"))
			f.referrers[0].Size = MaxManifest + 1
		}, ErrTooLarge},
		{"with another digest", func(t *testing.T, f *fake) {
			f.attach(t, bundle("x"))
			f.blobs[phases.ByteDigest([]byte("x"))] = []byte("y")
		}, ErrDigest},
		{"with another manifest", func(t *testing.T, f *fake) {
			d := f.attach(t, bundle("x"))
			f.manifests[d] = f.manifest
			f.lie = func(w http.ResponseWriter, r *http.Request) bool {
				if is(r, "manifests", d) {
					w.Header().Set("Content-Type", MediaTypeManifest)
					w.Write(f.manifest)
					return true
				}
				return false
			}
		}, ErrDigest},
		{"with another size", func(t *testing.T, f *fake) {
			f.attach(t, bundle("x"))
			f.blobs[phases.ByteDigest([]byte("x"))] = []byte("longer")
		}, ErrSize},
		{"no JSON", func(t *testing.T, f *fake) { f.attachRaw([]byte("{")) }, ErrMalformed},
		{"gone", func(t *testing.T, f *fake) {
			f.attach(t, bundle("x"))
			delete(f.blobs, phases.ByteDigest([]byte("x")))
		}, ErrNotFound},
		{"an index", func(t *testing.T, f *fake) {
			f.attach(t, bundle("x"))
			f.referrers[0].MediaType = MediaTypeIndex
		}, ErrMediaType},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			c.put(t, f)
			f.attach(t, bundle("good"))
			p, err := pull(Options{}, f.pinned())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"bundle good"}, texts(p)); d != "" {
				t.Error(d)
			}
			if len(p.Skipped) != 1 || !strings.HasPrefix(p.Skipped[0].Why, c.why.Error()) {
				t.Errorf("skipped %v, want %v", p.Skipped, c.why)
			}
		})
	}
}

// What stops the conversation is not a broken referrer.
func TestRefusalsAreNotSkipped(t *testing.T) {
	f := newFake(t)
	f.attach(t, bundle("x"))
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		if is(r, "blobs", phases.ByteDigest([]byte("x"))) {
			http.Redirect(w, r, "https://evil.example/", http.StatusFound)
			return true
		}
		return false
	}
	_, err := pull(Options{}, f.pinned())
	wantClass(t, err, ErrRedirect, "evil.example")
}

// However much is attached, the work is bounded, and what calls itself evidence
// comes first.
func TestFloodOfReferrers(t *testing.T) {
	f := newFake(t)
	for i := range 300 {
		m := Manifest{SchemaVersion: 2, MediaType: MediaTypeManifest, ArtifactType: "application/x",
			Config:  describe(MediaTypeEmpty, emptyConfig()),
			Layers:  []Descriptor{describe("application/x", []byte{byte(i), byte(i >> 8)})},
			Subject: &Descriptor{MediaType: MediaTypeManifest, Digest: f.digest}}
		f.attachRaw(encode(t, m))
	}
	f.attach(t, bundle("the good one"))
	f.referrers[300].ArtifactType = MediaTypeBundle
	p, err := pull(Options{}, f.pinned())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"bundle the good one"}, texts(p)); d != "" {
		t.Error(d)
	}
	if n := len(f.requests); n > maxReferrers+5 {
		t.Errorf("%d requests", n)
	}

	f = newFake(t)
	for i := range 40 {
		f.attach(t, bundle(fmt.Sprint(i)))
	}
	f.referrers = append(f.referrers, f.referrers[0]) // listed twice
	p, err = pull(Options{}, f.pinned())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Evidence) != MaxBundles || len(p.Skipped) != 40-MaxBundles {
		t.Errorf("%d taken, %d skipped", len(p.Evidence), len(p.Skipped))
	}
}

func TestSameEvidenceTwice(t *testing.T) {
	f := newFake(t)
	f.attach(t, bundle("x"))
	m, err := decodeManifest(f.manifests[f.referrers[0].Digest])
	if err != nil {
		t.Fatal(err)
	}
	m.Config.MediaType = "application/other"
	f.attachRaw(encode(t, *m))
	p, err := pull(Options{}, f.pinned())
	if err != nil || len(p.Evidence) != 1 || len(p.Skipped) != 1 {
		t.Errorf("%v, %v, %v", p.Evidence, p.Skipped, err)
	}
}

func TestWithoutReferrersAPI(t *testing.T) {
	for name, no := range map[string]http.HandlerFunc{
		"404":        func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"405":        func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"a web page": func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.attach(t, bundle("x"))
			tag := strings.Replace(f.digest, ":", "-", 1)
			list := encode(t, index{SchemaVersion: 2, MediaType: MediaTypeIndex, Manifests: f.referrers})
			served := true
			f.lie = func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case is(r, "referrers", f.digest):
					no(w, r)
				case is(r, "manifests", tag) && served:
					f.document(w, MediaTypeIndex, list)
				default:
					return false
				}
				return true
			}
			p, err := pull(Options{}, f.pinned())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"bundle x"}, texts(p)); d != "" {
				t.Error(d)
			}
			served = false
			if p, err = pull(Options{}, f.pinned()); err != nil || len(p.Evidence) != 0 {
				t.Errorf("without the tag: %v, %v", p, err)
			}
			served, list = true, []byte(`{"schemaVersion":2,"manifests":3}`)
			_, err = pull(Options{}, f.pinned())
			wantClass(t, err, ErrMalformed, "referrers")
		})
	}
}

func TestPagesOfReferrers(t *testing.T) {
	f := newFake(t)
	f.attach(t, bundle("one"))
	f.attach(t, bundle("two"))
	all := f.referrers
	endless := false
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		if !is(r, "referrers", f.digest) {
			return false
		}
		page := min(len(r.URL.RawQuery), 1)
		if page == 0 || endless {
			w.Header().Set("Link", "<"+r.URL.Path+"?"+r.URL.RawQuery+"n>; rel=\"next\"")
		}
		w.Header().Set("Content-Type", MediaTypeIndex)
		w.Write(encode(t, index{SchemaVersion: 2, Manifests: all[page : page+1]}))
		return true
	}
	for _, endless = range []bool{false, true} {
		f.requests = nil
		p, err := pull(Options{}, f.pinned())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"bundle one", "bundle two"}, texts(p)); d != "" {
			t.Error(d)
		}
		if len(f.requests) > maxPages+6 {
			t.Errorf("%d requests", len(f.requests))
		}
	}
}
