package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
	"github.com/go-json-experiment/json"
)

const repo = "hooks/guard"

// fake is a registry with one hook whose answers a test can replace.
type fake struct {
	*httptest.Server
	module    []byte
	manifest  []byte
	digest    string // of manifest
	blobs     map[string][]byte
	manifests map[string][]byte
	referrers []Descriptor
	lie       func(w http.ResponseWriter, r *http.Request) bool // answered
	requests  []string
}

func module(text string) []byte { return append([]byte("\x00asm\x01\x00\x00\x00"), text...) }

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{module: module("a hook"), blobs: map[string][]byte{}, manifests: map[string][]byte{}}
	manifest, config, err := Pack(f.module)
	if err != nil {
		t.Fatal(err)
	}
	f.manifest = manifest
	f.digest = f.addManifest(manifest, "1.0")
	f.addBlob(config)
	f.addBlob(f.module)
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) addBlob(b []byte) string { d := phases.ByteDigest(b); f.blobs[d] = b; return d }

func (f *fake) addManifest(b []byte, tags ...string) string {
	d := phases.ByteDigest(b)
	for _, name := range append(tags, d) {
		f.manifests[name] = b
	}
	return d
}

// replace makes other bytes the hook's manifest.
func (f *fake) replace(t *testing.T, m Manifest) {
	t.Helper()
	f.manifest = encode(t, m)
	f.digest = f.addManifest(f.manifest, "1.0")
}

func (f *fake) attach(t *testing.T, e Evidence) string {
	t.Helper()
	doc, err := packEvidence(e, Descriptor{MediaType: MediaTypeManifest, Digest: f.digest, Size: int64(len(f.manifest))})
	if err != nil {
		t.Fatal(err)
	}
	f.addBlob(e.Bytes)
	return f.attachRaw(doc)
}

func (f *fake) attachRaw(doc []byte) string {
	d := f.addManifest(doc)
	f.referrers = append(f.referrers, Descriptor{MediaType: MediaTypeManifest, Digest: d, Size: int64(len(doc))})
	return d
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	if f.lie != nil && f.lie(w, r) {
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/v2/"+repo+"/")
	kind, name, _ := strings.Cut(path, "/")
	switch {
	case ok && kind == "manifests" && f.manifests[name] != nil:
		f.document(w, MediaTypeManifest, f.manifests[name])
	case ok && kind == "blobs" && f.blobs[name] != nil:
		w.Write(f.blobs[name])
	case ok && kind == "referrers":
		b, err := json.Marshal(index{SchemaVersion: 2, MediaType: MediaTypeIndex, Manifests: f.referrers})
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", MediaTypeIndex)
		w.Write(b)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
	}
}

func (f *fake) document(w http.ResponseWriter, mediaType string, b []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", phases.ByteDigest(b))
	w.Write(b)
}

func (f *fake) host() string { return f.Listener.Addr().String() }

func (f *fake) tag() Reference    { return Reference{Host: f.host(), Repo: repo, Tag: "1.0"} }
func (f *fake) pinned() Reference { return f.tag().Pinned(f.digest) }

func is(r *http.Request, kind, name string) bool {
	return strings.HasSuffix(r.URL.Path, "/"+kind+"/"+name)
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func classes() []error {
	return []error{ErrReference, ErrConfig, ErrPlainHTTP, ErrRedirect, ErrTokenHost, ErrAuth, ErrNotFound, ErrUnavailable,
		ErrTooLarge,
		ErrSize, ErrDigest, ErrMediaType, ErrEncoding, ErrMalformed, ErrLayout, ErrEvidence}
}

// wantClass asks for the class, for no other one, and for words.
func wantClass(t *testing.T, err error, class error, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %v", class)
	}
	for _, c := range classes() {
		if errors.Is(err, c) != (c == class) {
			t.Errorf("errors.Is(%v, %v) = %v", err, c, c != class)
		}
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("the error %q does not say %q", err, text)
	}
	var e *Error
	if !errors.As(err, &e) || e.Op == "" {
		t.Errorf("the error %#v does not say what was being done", err)
	}
}

func pull(o Options, ref Reference) (*Pulled, error) {
	return New(o).Pull(context.Background(), ref)
}
