package oci

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
)

// The manifest depends on the module alone; a change here makes every signature
// over a manifest digest worthless after the next push.
func TestManifestIsStable(t *testing.T) {
	manifest, config, err := Pack(module("a hook"))
	if err != nil {
		t.Fatal(err)
	}
	const (
		wantConfig   = `{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip1","layerDigests":["sha256:05bd7a063fd148535186db06493a2d6edf4439943e7ad666b74af495d5e0b25b"]}`
		wantManifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
			`"config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"sha256:370ad4a974be1a5272ea1c8b3b3eb3c5f925ab58cb2a95fb6979e590b77c884f","size":161},` +
			`"layers":[{"mediaType":"application/wasm","digest":"sha256:05bd7a063fd148535186db06493a2d6edf4439943e7ad666b74af495d5e0b25b","size":14}]}`
	)
	if d := cmp.Diff(wantConfig, string(config)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(wantManifest, string(manifest)); d != "" {
		t.Error(d)
	}
	if layer, err := ModuleLayer(manifest); err != nil || layer.Digest != phases.ByteDigest(module("a hook")) {
		t.Errorf("the manifest binds %v (%v)", layer, err)
	}
}

// A hook that an earlier belay pushed, without created, has signatures over that manifest: a mirror gets it again.
func TestPushAsBefore(t *testing.T) {
	ctx, m := context.Background(), module("a hook")
	const config = `{"architecture":"wasm","os":"wasip1","layerDigests":["sha256:05bd7a063fd148535186db06493a2d6edf4439943e7ad666b74af495d5e0b25b"]}`
	manifest := []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"sha256:038900800841da94c56f0bc425dc681ad888fca808f320eb20ad0367225784dd","size":128},` +
		`"layers":[{"mediaType":"application/wasm","digest":"sha256:05bd7a063fd148535186db06493a2d6edf4439943e7ad666b74af495d5e0b25b","size":14}]}`)
	if got, ok, err := PackAs(m, manifest); err != nil || !ok || string(got) != config {
		t.Errorf("%q, %v, %v", got, ok, err)
	}
	ref, _ := realistic(t, true, nil)
	c := New(Options{})
	pushed, err := c.PushAs(ctx, ref, manifest, m, nil)
	if err != nil || !bytes.Equal(pushed.Manifest, manifest) || pushed.Ref.Digest != phases.ByteDigest(manifest) {
		t.Fatalf("%+v, %v", pushed, err)
	}
	if p, err := c.Pull(ctx, pushed.Ref); err != nil || !bytes.Equal(p.Manifest, manifest) {
		t.Errorf("%v", err)
	}
	for _, other := range [][]byte{nil, []byte("{}"), append(bytes.Clone(manifest), ' '),
		bytes.Replace(manifest, []byte("05bd"), []byte("05be"), 1)} {
		_, err = c.PushAs(ctx, ref, other, m, nil)
		wantClass(t, err, ErrLayout, "none that belay makes")
	}
}

// What oci-wasm 0.6.0 of the Bytecode Alliance has to find: its WasmConfig (src/config.rs), where
// members without Option are required, and what its pull_manifest_and_config asks of a manifest.
func TestReadersOfTheByteCodeAlliance(t *testing.T) {
	manifest, config, err := Pack(module("a hook"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Created      *time.Time `json:"created"`
		Author       *string    `json:"author"`
		Architecture *string    `json:"architecture"`
		OS           *string    `json:"os"`
		LayerDigests *[]string  `json:"layerDigests"`
		Component    *struct{}  `json:"component"`
	}
	if err := json.Unmarshal(config, &c, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if c.Created == nil || c.Architecture == nil || *c.Architecture != "wasm" || c.OS == nil || *c.OS != "wasip1" ||
		c.Component != nil {
		t.Errorf("%s", config)
	}
	if want := []string{phases.ByteDigest(module("a hook"))}; c.LayerDigests == nil ||
		!slices.Equal(*c.LayerDigests, want) {
		t.Errorf("%s", config)
	}
	var m Manifest
	if err := json.Unmarshal(manifest, &m); err != nil || len(m.Layers) != 1 ||
		m.MediaType != "application/vnd.oci.image.manifest.v1+json" ||
		m.Config.MediaType != "application/vnd.wasm.config.v0+json" || m.Layers[0].MediaType != "application/wasm" {
		t.Errorf("%s, %v", manifest, err)
	}
}

func realistic(t *testing.T, referrers bool, wrap func(http.Handler) http.Handler) (Reference, *httptest.Server) {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers))
	if wrap != nil {
		h = wrap(h)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return Reference{Host: u.Host, Repo: repo, Tag: "1.0"}, srv
}

func TestPushAndPull(t *testing.T) {
	for name, referrers := range map[string]bool{"referrers API": true, "fallback tag": false} {
		t.Run(name, func(t *testing.T) {
			ref, _ := realistic(t, referrers, nil)
			roundTrip(t, Options{}, ref)
		})
	}
}

// roundTrip is what any registry has to do for us; the real one is asked too.
func roundTrip(t *testing.T, o Options, ref Reference) {
	t.Helper()
	ctx := context.Background()
	c := New(o)
	m := module("pushed " + t.Name())
	evidence := []Evidence{bundle(`{"one":1}`), {Kind: KindSignature, Bytes: []byte("c2ln")}}
	pushed, err := c.Push(ctx, ref, m, evidence)
	if err != nil {
		t.Fatal(err)
	}
	if pushed.Digest != phases.ByteDigest(m) || pushed.Ref.Digest != phases.ByteDigest(pushed.Manifest) ||
		pushed.Tag != ref.Tag ||
		len(pushed.Evidence) != 2 {
		t.Errorf("pushed %+v", pushed)
	}
	pinned, err := c.Resolve(ctx, ref)
	if err != nil || pinned != pushed.Ref {
		t.Errorf("the tag stands for %v (%v), pushed was %v", pinned, err, pushed.Ref)
	}
	for _, r := range []Reference{ref, pinned} {
		p, err := c.Pull(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.Module, m) || !bytes.Equal(p.Manifest, pushed.Manifest) || p.ManifestDigest != pinned.Digest {
			t.Errorf("%v came back as %+v", r, p)
		}
		if d := cmp.Diff([]string{`bundle {"one":1}`, "signature c2ln"}, texts(p)); d != "" {
			t.Error(d)
		}
	}
	// Again, and with more evidence: the same manifest, nothing doubled.
	again, err := c.Push(ctx, ref, m, append(evidence, bundle(`{"two":2}`)))
	if err != nil || again.Ref != pushed.Ref {
		t.Fatalf("%v (%v), want %v", again, err, pushed.Ref)
	}
	p, err := c.Pull(ctx, again.Ref)
	if err != nil || len(p.Evidence) != 3 {
		t.Errorf("%d pieces of evidence (%v), want 3", len(p.Evidence), err)
	}
	// The tag moves; the digest stays.
	other, err := c.Push(ctx, ref, module("another "+t.Name()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := c.Resolve(ctx, ref); err != nil || now != other.Ref {
		t.Errorf("the tag stands for %v (%v), want %v", now, err, other.Ref)
	}
	if p, err := c.Pull(ctx, pinned); err != nil || !bytes.Equal(p.Module, m) {
		t.Errorf("the pinned one: %v", err)
	}
	missing := ref
	missing.Tag = "never-pushed"
	_, err = c.Pull(ctx, missing)
	wantClass(t, err, ErrNotFound, "never-pushed")
	_, err = c.Pull(ctx, ref.Pinned(phases.ByteDigest([]byte("never pushed"))))
	wantClass(t, err, ErrNotFound, "404")
}

func TestPushWithoutTag(t *testing.T) {
	ref, _ := realistic(t, true, nil)
	ref.Tag = ""
	pushed, err := New(Options{}).Push(context.Background(), ref, module("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pull(Options{}, pushed.Ref); err != nil {
		t.Error(err)
	}
	_, err = pull(Options{}, ref)
	wantClass(t, err, ErrReference, "tag or a digest")
}

func TestPushRefusals(t *testing.T) {
	ref := Reference{Host: "127.0.0.1:1", Repo: repo, Tag: "1.0"}
	many := make([]Evidence, MaxBundles+1)
	for i := range many {
		many[i] = bundle("x")
	}
	for name, c := range map[string]struct {
		ref      Reference
		module   []byte
		evidence []Evidence
		class    error
	}{
		"a digest":           {ref.Pinned(phases.ByteDigest(nil)), module("x"), nil, ErrReference},
		"too large":          {ref, module(strings.Repeat("x", MaxModule)), nil, ErrTooLarge},
		"no module":          {ref, []byte("#!/bin/sh"), nil, ErrLayout},
		"too much evidence":  {ref, module("x"), many, ErrTooLarge},
		"too large evidence": {ref, module("x"), []Evidence{bundle(strings.Repeat("x", MaxEvidence+1))}, ErrTooLarge},
		"empty evidence":     {ref, module("x"), []Evidence{bundle("")}, ErrTooLarge},
		"no registry there":  {ref, module("x"), nil, ErrUnavailable},
	} {
		_, err := New(Options{}).Push(context.Background(), c.ref, c.module, c.evidence)
		t.Run(name, func(t *testing.T) { wantClass(t, err, c.class, "") })
	}
}

// A push fails if the registry serves another manifest, loses the evidence, or redirects or
// refuses the upload.
func TestPushToLiars(t *testing.T) {
	for name, c := range map[string]struct {
		referrers bool
		class     error
		lie       func(w http.ResponseWriter, r *http.Request) bool
	}{
		"another manifest": {true, ErrDigest, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			other, _, _ := Pack(module("other"))
			w.Header().Set("Content-Type", MediaTypeManifest)
			w.Write(other)
			return true
		}},
		"evidence is lost": {true, ErrEvidence, func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/referrers/") {
				return false
			}
			w.Header().Set("Content-Type", MediaTypeIndex)
			w.Write([]byte(`{"schemaVersion":2,"mediaType":"` + MediaTypeIndex + `","manifests":[]}`))
			return true
		}},
		"the upload goes elsewhere": {true, ErrRedirect, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			w.Header().Set("Location", "https://evil.example/upload")
			w.WriteHeader(http.StatusAccepted)
			return true
		}},
		"the upload is redirected": {true, ErrRedirect, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut {
				return false
			}
			http.Redirect(w, r, "https://evil.example/upload", http.StatusTemporaryRedirect)
			return true
		}},
		"read only": {true, ErrAuth, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusForbidden)
			}
			return r.Method == http.MethodPost
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ref, _ := realistic(t, c.referrers, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !c.lie(w, r) {
						h.ServeHTTP(w, r)
					}
				})
			})
			_, err := New(Options{}).Push(context.Background(), ref, module("x"), []Evidence{bundle("{}")})
			wantClass(t, err, c.class, "")
		})
	}
}

// Another client's list overwrites ours once: it is written again.
func TestLostUpdateOfTheFallbackTag(t *testing.T) {
	swallowed := false
	ref, _ := realistic(t, false, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256-") && !swallowed {
				swallowed = true
				empty := httptest.NewRequest(r.Method, r.URL.Path,
					strings.NewReader(`{"schemaVersion":2,"mediaType":"`+MediaTypeIndex+`","manifests":[]}`))
				empty.Header.Set("Content-Type", MediaTypeIndex)
				h.ServeHTTP(httptest.NewRecorder(), empty)
			}
		})
	})
	pushed, err := New(Options{}).Push(context.Background(), ref, module("x"), []Evidence{bundle("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := pull(Options{}, pushed.Ref); err != nil || len(p.Evidence) != 1 || !swallowed {
		t.Errorf("%d pieces of evidence (%v), swallowed %v", len(p.Evidence), err, swallowed)
	}
}
