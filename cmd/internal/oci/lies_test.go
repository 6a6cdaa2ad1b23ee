package oci

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

func TestHonestRegistry(t *testing.T) {
	f := newFake(t)
	for _, ref := range []Reference{f.tag(), f.pinned()} {
		p, err := pull(Options{}, ref)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.Module, f.module) || p.Digest != phases.ByteDigest(f.module) || p.ManifestDigest != f.digest ||
			!bytes.Equal(p.Manifest, f.manifest) {
			t.Errorf("%v: %+v is not what was put there", ref, p)
		}
		if p.Ref != f.pinned() {
			t.Errorf("pinned as %v, want %v", p.Ref, f.pinned())
		}
	}
}

// A pull resolves a tag once: moving it a moment later changes nothing.
func TestTagIsResolvedOnce(t *testing.T) {
	f := newFake(t)
	f.attach(t, bundle("x"))
	other, _, _ := Pack(module("moved"))
	asked := 0
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		if !is(r, "manifests", "1.0") {
			return false
		}
		asked++
		f.document(w, MediaTypeManifest, f.manifest)
		f.manifests["1.0"] = other
		return true
	}
	p, err := pull(Options{}, f.tag())
	if err != nil || p.Ref != f.pinned() || asked != 1 {
		t.Errorf("%v (%v), asked %d times", p, err, asked)
	}
	// With a digest the tag beside it is not looked at.
	ref := f.pinned()
	ref.Tag = "1.0"
	if p, err = pull(Options{}, ref); err != nil || p.Ref != f.pinned() || asked != 1 {
		t.Errorf("%v (%v), asked %d times", p, err, asked)
	}
}

// Each lie of a registry about the manifest or the module has an error of its own.
func TestLies(t *testing.T) {
	layer := func(f *fake) string { return phases.ByteDigest(f.module) }
	change := func(edit func(f *fake, m *Manifest)) func(*testing.T, *fake) {
		return func(t *testing.T, f *fake) {
			m, err := decodeManifest(f.manifest)
			if err != nil {
				t.Fatal(err)
			}
			edit(f, m)
			f.replace(t, *m)
		}
	}
	answer := func(kind string, name func(*fake) string, h func(f *fake, w http.ResponseWriter)) func(*testing.T, *fake) {
		return func(t *testing.T, f *fake) {
			f.lie = func(w http.ResponseWriter, r *http.Request) bool {
				if !is(r, kind, name(f)) {
					return false
				}
				h(f, w)
				return true
			}
		}
	}
	byDigest := func(f *fake) string { return f.digest }
	for _, c := range []struct {
		name  string
		lie   func(*testing.T, *fake)
		class error
		text  string
	}{
		{"another manifest under the digest", answer("manifests", byDigest, func(f *fake, w http.ResponseWriter) {
			other, _, _ := Pack(module("another"))
			w.Header().Set("Content-Type", MediaTypeManifest)
			w.Write(other)
		}), ErrDigest, "what came is sha256:"},
		{"a digest header that is not true", answer("manifests", byDigest, func(f *fake, w http.ResponseWriter) {
			w.Header().Set("Content-Type", MediaTypeManifest)
			w.Header().Set("Docker-Content-Digest", phases.ByteDigest([]byte("x")))
			w.Write(f.manifest)
		}), ErrDigest, "the registry calls it"},
		{"another module under the digest", answer("blobs", layer, func(f *fake, w http.ResponseWriter) {
			w.Write(module("a h00k"))
		}), ErrDigest, "what came is sha256:"},
		{"an index announced as a manifest", func(t *testing.T, f *fake) {
			f.manifest = []byte(`{"schemaVersion":2,"mediaType":"` + MediaTypeIndex + `","manifests":[]}`)
			f.digest = f.addManifest(f.manifest)
		}, ErrMediaType, "index"},
		{"an index",
			answer("manifests", byDigest, func(f *fake, w http.ResponseWriter) { f.document(w, MediaTypeIndex, f.manifest) }),
			ErrMediaType, "wanted is " + MediaTypeManifest},
		{"a web page",
			answer("manifests", byDigest, func(f *fake, w http.ResponseWriter) { f.document(w, "text/html", f.manifest) }),
			ErrMediaType, "text/html"},
		{"no content type", answer("manifests", byDigest, func(f *fake, w http.ResponseWriter) {
			w.Header()["Content-Type"] = nil
			w.Write(f.manifest)
		}), ErrMediaType, `""`},
		{"10 GB announced in the manifest", change(func(f *fake, m *Manifest) { m.Layers[0].Size = 10 << 30 }), ErrTooLarge,
			"10737418240"},
		{"one byte more than a module may have", change(func(f *fake, m *Manifest) { m.Layers[0].Size = MaxModule + 1 }),
			ErrTooLarge, "8388609"},
		{"10 GB announced in the header", answer("blobs", layer, func(f *fake, w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(10)<<30))
			w.Write(f.module)
		}), ErrTooLarge, "10737418240"},
		{"a manifest of 2 MiB", answer("manifests", byDigest, func(f *fake, w http.ResponseWriter) {
			f.document(w, MediaTypeManifest, bytes.Repeat([]byte(" "), 2<<20))
		}), ErrTooLarge, "1048576"},
		{"another size announced in the header", answer("blobs", layer, func(f *fake, w http.ResponseWriter) {
			w.Write(f.module[:8])
		}), ErrSize, "announced with 8"},
		{"a smaller size in the manifest", change(func(f *fake, m *Manifest) { m.Layers[0].Size-- }), ErrSize,
			"announced with"},
		{"more than announced, in chunks", answer("blobs", layer, func(f *fake, w http.ResponseWriter) {
			w.(http.Flusher).Flush()
			w.Write(append(bytes.Clone(f.module), 'x'))
		}), ErrSize, "goes on"},
		{"less than announced, in chunks", answer("blobs", layer, func(f *fake, w http.ResponseWriter) {
			w.(http.Flusher).Flush()
			w.Write(f.module[:9])
		}), ErrSize, "the answer has 9"},
		{"less than the header says", answer("blobs", layer, func(f *fake, w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(f.module)))
			w.Write(f.module[:9])
		}), ErrSize, "broke off after 9"},
		{"gzip", answer("blobs", layer, func(f *fake, w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.CopyN(z, zeros{}, 64<<20)
			z.Close()
		}), ErrEncoding, "gzip"},
		{"gzip of the manifest", answer("manifests", byDigest, func(f *fake, w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			f.document(w, MediaTypeManifest, []byte("x"))
		}), ErrEncoding, "gzip"},
		{"no JSON", func(t *testing.T, f *fake) { f.manifest = []byte("{"); f.digest = f.addManifest(f.manifest) },
			ErrMalformed, "JSON"},
		{"two lists of layers", func(t *testing.T, f *fake) {
			f.manifest = bytes.Replace(f.manifest, []byte(`"layers":`), []byte(`"layers":[],"layers":`), 1)
			f.digest = f.addManifest(f.manifest)
		}, ErrMalformed, "JSON"},
		{"layers in other letters", func(t *testing.T, f *fake) {
			f.manifest = bytes.Replace(f.manifest, []byte(`"layers":`), []byte(`"Layers":`), 1)
			f.digest = f.addManifest(f.manifest)
		}, ErrMalformed, "JSON"},
		{"another list of layers in other letters", func(t *testing.T, f *fake) {
			f.manifest = bytes.Replace(f.manifest, []byte(`"layers":`), []byte(`"Layers":[],"layers":`), 1)
			f.digest = f.addManifest(f.manifest)
		}, ErrMalformed, "JSON"},
		{"sha512", change(func(f *fake, m *Manifest) { m.Layers[0].Digest = "sha512:" + strings.Repeat("0", 128) }),
			ErrMalformed, "digest"},
		{"a path as digest", change(func(f *fake, m *Manifest) { m.Layers[0].Digest = "sha256:../../../etc/passwd" }),
			ErrMalformed, "digest"},
		{"a negative size", change(func(f *fake, m *Manifest) { m.Layers[0].Size = -1 }), ErrMalformed, "negative"},
		{"two layers", change(func(f *fake, m *Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }), ErrLayout,
			"2 layers"},
		{"a container image",
			change(func(f *fake, m *Manifest) { m.Config.MediaType = "application/vnd.oci.image.config.v1+json" }), ErrLayout,
			"config"},
		{"a gzipped layer", change(func(f *fake, m *Manifest) { m.Layers[0].MediaType = "application/wasm+gzip" }), ErrLayout,
			"wasm+gzip"},
		{"a layer from elsewhere",
			change(func(f *fake, m *Manifest) { m.Layers[0].URLs = []string{"https://evil.example/x"} }), ErrLayout,
			"elsewhere"},
		{"an empty layer", change(func(f *fake, m *Manifest) { m.Layers[0].Size = 0 }), ErrLayout, "empty"},
		{"no media type in the document", change(func(f *fake, m *Manifest) { m.MediaType = "" }), ErrLayout, "mediaType"},
		{"a subject", change(func(f *fake, m *Manifest) { m.Subject = &m.Config }), ErrLayout, "attached"},
		{"no wasm", change(func(f *fake, m *Manifest) {
			text := []byte("#!/bin/sh")
			m.Layers[0].Digest, m.Layers[0].Size = f.addBlob(text), int64(len(text))
		}), ErrMediaType, "calls itself application/wasm"},
		{"the module is gone", func(t *testing.T, f *fake) { delete(f.blobs, phases.ByteDigest(f.module)) }, ErrNotFound, "404"},
		{"500", answer("blobs", layer, func(f *fake, w http.ResponseWriter) {
			w.WriteHeader(500)
			fmt.Fprint(w, "{\"errors\":[{\"code\":\"UNKNOWN\",\"message\":\"\\u001b[31mboo\"}]}")
		}), ErrUnavailable, "UNKNOWN"},
		{"the list of evidence is no JSON", answer("referrers", byDigest, func(f *fake, w http.ResponseWriter) {
			w.Header().Set("Content-Type", MediaTypeIndex)
			w.Write([]byte(`{"schemaVersion":2,"manifests":[],"manifests":[]}`))
		}), ErrMalformed, "referrers"},
		{"an endless list of evidence", answer("referrers", byDigest, func(f *fake, w http.ResponseWriter) {
			w.Header().Set("Content-Type", MediaTypeIndex)
			io.CopyN(w, zeros{}, 2<<20)
		}), ErrTooLarge, "1048576"},
		{"the next page is elsewhere", answer("referrers", byDigest, func(f *fake, w http.ResponseWriter) {
			w.Header().Set("Link", `<https://evil.example/v2/x>; rel="next"`)
			w.Header().Set("Content-Type", MediaTypeIndex)
			w.Write([]byte(`{"schemaVersion":2,"manifests":[]}`))
		}), ErrRedirect, "evil.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			c.lie(t, f)
			p, err := pull(Options{}, f.pinned())
			if p != nil {
				t.Errorf("something came of it: %+v", p)
			}
			wantClass(t, err, c.class, c.text)
			if strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("%q can drive a terminal", err)
			}
		})
	}
}

// A body that never ends is cut where the manifest's size ends; that we stop
// reading is seen by the server.
func TestEndlessBody(t *testing.T) {
	f := newFake(t)
	var sent atomic.Int64
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		if !is(r, "blobs", phases.ByteDigest(f.module)) {
			return false
		}
		b := make([]byte, 64<<10)
		for r.Context().Err() == nil {
			n, err := w.Write(b)
			sent.Add(int64(n))
			if err != nil {
				break
			}
		}
		return true
	}
	_, err := pull(Options{}, f.pinned())
	wantClass(t, err, ErrSize, "goes on")
	f.Close() // waits for the handler
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// TestReadAllStops: no more is read than the limit and one byte, whatever is there.
func TestReadAllStops(t *testing.T) {
	body := &endless{}
	_, err := readAll(&http.Response{Body: body, ContentLength: -1}, 1000, nil)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
	if body.read != 1001 {
		t.Errorf("%d bytes were read", body.read)
	}
}

// endless is an answer without an end; it gives up itself after 1 MiB.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 1<<20 {
		return 0, io.EOF
	}
	e.read += len(p)
	return len(p), nil
}

func (*endless) Close() error { return nil }

// A body that is announced as too large is not read at all.
func TestAnnouncedSizeIsEnough(t *testing.T) {
	f := newFake(t)
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		if !is(r, "manifests", f.digest) {
			return false
		}
		w.Header().Set("Content-Type", MediaTypeManifest)
		w.Header().Set("Content-Length", fmt.Sprint(MaxManifest+1))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	_, err := pull(Options{Timeout: 5 * time.Second}, f.pinned())
	wantClass(t, err, ErrTooLarge, "1048576")
}

// The last limit is below those who read answers without one of their own.
func TestCapped(t *testing.T) {
	n, err := io.Copy(io.Discard, &capped{ReadCloser: io.NopCloser(zeros{}), left: 1000})
	if e := fail(ErrTooLarge, ""); !errors.Is(err, e.Class) || n > 1001 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err = io.Copy(io.Discard,
		&capped{ReadCloser: io.NopCloser(io.LimitReader(zeros{}, 1000)), left: 1000}); n != 1000 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestRedirects(t *testing.T) {
	f := newFake(t)
	var got []string
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.Write(f.module)
	}))
	defer cdn.Close()
	cdnHost := cdn.Listener.Addr().String()
	to := func(target string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if is(r, "blobs", phases.ByteDigest(f.module)) {
				http.Redirect(w, r, target, http.StatusTemporaryRedirect)
				return true
			}
			return false
		}
	}

	f.lie = to(cdn.URL + "/blob")
	_, err := pull(Options{}, f.pinned())
	wantClass(t, err, ErrRedirect, cdnHost)
	if len(got) != 0 {
		t.Fatalf("the other host was asked: %q", got)
	}
	if _, err := pull(Options{BlobHosts: []string{cdnHost}}, f.pinned()); err != nil {
		t.Errorf("a host that was named: %v", err)
	}
	_, err = pull(Options{TokenHosts: []string{cdnHost}}, f.pinned())
	wantClass(t, err, ErrRedirect, cdnHost) // a token host is no blob host

	f.lie = to("http://cdn.example/blob")
	_, err = pull(Options{BlobHosts: []string{"cdn.example"}}, f.pinned())
	wantClass(t, err, ErrRedirect, "http://cdn.example") // named, but without TLS

	f.lie = to(strings.Replace(f.URL, "http://", "http://user:secret@", 1) + "/x")
	_, err = pull(Options{}, f.pinned())
	wantClass(t, err, ErrRedirect, "user name")

	// On the same host a few are fine, a circle is not.
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		if !is(r, "blobs", phases.ByteDigest(f.module)) || r.URL.RawQuery != "" {
			return false
		}
		http.Redirect(w, r, r.URL.Path+"?again=1", http.StatusFound)
		return true
	}
	if _, err := pull(Options{}, f.pinned()); err != nil {
		t.Errorf("a redirect on the same host: %v", err)
	}
	f.requests = nil
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
		return true
	}
	_, err = pull(Options{}, f.pinned())
	wantClass(t, err, ErrRedirect, "in a row")
	if len(f.requests) > maxRedirects+1 {
		t.Errorf("%d requests", len(f.requests))
	}
}

func TestPlainHTTPOnlyForThisMachine(t *testing.T) {
	// A name that does not exist anywhere: nothing must be sent before the refusal.
	s, err := New(Options{}).open(Reference{Host: "registry.example:5000", Repo: repo, Tag: "x"})
	if err != nil || s.plain || !strings.HasPrefix(s.base, "https://") {
		t.Fatalf("plain %v, base %q, error %v", s.plain, s.base, err)
	}
	// localhost that a resolver gives another address.
	if s, err = New(Options{}).open(Reference{Host: "localhost:5000", Repo: repo, Tag: "x"}); err != nil || !s.plain {
		t.Fatalf("plain %v, error %v", s.plain, err)
	}
	tr := s.client.Client.Transport.(*guard).next.(*http.Transport)
	if tr.Proxy != nil {
		t.Error("what is meant for this machine can go to a proxy")
	}
	_, err = tr.DialContext(context.Background(), "tcp", "192.0.2.1:80")
	var e *Error
	if !errors.As(err, &e) || e.Class != ErrPlainHTTP {
		t.Fatalf("%v, want %v", err, ErrPlainHTTP)
	}

	f := newFake(t)
	_, err = pull(Options{ForceTLS: true}, f.pinned())
	wantClass(t, err, ErrUnavailable, "HTTPS")

	tls := httptest.NewUnstartedServer(f)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	ref := f.pinned()
	ref.Host = tls.Listener.Addr().String()
	_, err = pull(Options{ForceTLS: true}, ref)
	wantClass(t, err, ErrUnavailable, "certificate")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = pull(Options{ForceTLS: true, CAFile: ca}, ref); err != nil {
		t.Error(err)
	}
	_, err = pull(Options{CAFile: dockerConfig(t)}, ref)
	wantClass(t, err, ErrConfig, "no certificate")
}

func TestGuardKnowsSchemes(t *testing.T) {
	g := newGuard(nil, "registry.example", false, []string{"auth.example"}, nil)
	for url, want := range map[string]bool{
		"https://registry.example/v2/": true, "https://REGISTRY.example:443/v2/": true, "https://auth.example/token": true,
		"http://registry.example/v2/": false, "https://registry.example:8443/v2/": false, "http://auth.example/token": false,
		"https://evil.registry.example/": false, "https://registry.example.evil/": false,
		"http://registry.example:443/v2/": false, "http://auth.example:443/token": false,
	} {
		req := httptest.NewRequest(http.MethodGet, url, nil)
		if got := g.mayAsk(req.URL); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
	g = newGuard(nil, "registry.example", false, nil, []string{"cdn.example"})
	for url, want := range map[string]bool{"https://cdn.example/x": true, "https://cdn.example:443/x": true,
		"http://cdn.example:443/x": false, "https://cdn.example:8443/x": false} {
		if got := g.mayServe(httptest.NewRequest(http.MethodGet, url, nil).URL); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
}

func TestTimeouts(t *testing.T) {
	f := newFake(t)
	release := make(chan struct{})
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		if is(r, "blobs", phases.ByteDigest(f.module)) {
			w.Write(f.module[:8])
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return true
		}
		return false
	}
	defer close(release)
	_, err := pull(Options{Timeout: 50 * time.Millisecond}, f.pinned())
	wantClass(t, err, ErrUnavailable, "too long")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v does not tell its cause", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = New(Options{}).Pull(ctx, f.pinned())
	wantClass(t, err, ErrUnavailable, "interrupted")
}
