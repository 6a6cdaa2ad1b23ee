package oci

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

func dockerConfig(t *testing.T, hosts ...string) string {
	t.Helper()
	var auths []string
	for _, h := range hosts {
		auths = append(auths, fmt.Sprintf("%q:{\"auth\":%q}", h, base64.StdEncoding.EncodeToString([]byte("me:secret"))))
	}
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(`{"auths":{`+strings.Join(auths, ",")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// challenge answers 401 to whatever has no right credential.
func challenge(header string, accept func(*http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if accept(r) {
			return false
		}
		w.Header().Set("WWW-Authenticate", header)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
}

func basic(r *http.Request) bool {
	u, p, ok := r.BasicAuth()
	return ok && u == "me" && p == "secret"
}

func TestBasic(t *testing.T) {
	f := newFake(t)
	f.lie = challenge(`Basic realm="x"`, basic)
	if _, err := pull(Options{AuthFile: dockerConfig(t, f.host())}, f.pinned()); err != nil {
		t.Error(err)
	}
	_, err := pull(Options{}, f.pinned())
	wantClass(t, err, ErrAuth, "none are known")
	_, err = pull(Options{AuthFile: dockerConfig(t, "other.example")}, f.pinned())
	wantClass(t, err, ErrAuth, "none are known")
	_, err = pull(Options{AuthFile: filepath.Join(t.TempDir(), "none.json")}, f.pinned())
	wantClass(t, err, ErrAuth, "none are known")
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = pull(Options{AuthFile: bad}, f.pinned())
	wantClass(t, err, ErrConfig, "Docker")
}

// A registry that is never satisfied is asked a handful of times, not for ever.
func TestEndless401(t *testing.T) {
	for _, header := range []string{`Basic realm="x"`, `Bearer realm="%s/token",service="x"`} {
		f := newFake(t)
		if strings.Contains(header, "%s") {
			header = fmt.Sprintf(header, f.URL)
		}
		never := challenge(header, func(*http.Request) bool { return false })
		f.lie = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				fmt.Fprint(w, `{"token":"t"}`)
				return true
			}
			return never(w, r)
		}
		_, err := pull(Options{AuthFile: dockerConfig(t, f.host())}, f.pinned())
		wantClass(t, err, ErrAuth, "401")
		if len(f.requests) > 4 {
			t.Errorf("%q: %d requests: %q", header, len(f.requests), f.requests)
		}
	}
}

func TestTokens(t *testing.T) {
	f := newFake(t)
	var asked []string
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization")+" "+r.URL.Query().Get("scope"))
		if enc := r.Header.Get("Accept-Encoding"); strings.Contains(enc, "gzip") {
			t.Errorf("compression was asked for: %q", enc)
		}
		fmt.Fprint(w, `{"token":"the-token"}`)
	}))
	defer tokens.Close()
	bearer := func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer the-token" }
	f.lie = challenge(`Bearer realm="`+tokens.URL+`/token",service="s"`, bearer)
	o := Options{AuthFile: dockerConfig(t, f.host())}

	_, err := pull(o, f.pinned())
	wantClass(t, err, ErrTokenHost, tokens.Listener.Addr().String())
	if len(asked) != 0 {
		t.Fatalf("credentials went to another host: %q", asked)
	}
	// Written so that the early look misses it, the transport still refuses.
	f.lie = challenge(`Bearer service="s",realm = "`+tokens.URL+`/token"`, bearer)
	if _, err = pull(o, f.pinned()); err == nil || len(asked) != 0 {
		t.Fatalf("error %v, credentials went to another host: %q", err, asked)
	}

	// An address of a private network: refused before any name is resolved.
	f.lie = challenge(`Bearer realm="https://10.0.0.1/token"`, bearer)
	_, err = pull(o, f.pinned())
	wantClass(t, err, ErrTokenHost, "10.0.0.1")

	f.lie = challenge(`Bearer realm="`+tokens.URL+`/token",service="s"`, bearer)
	o.TokenHosts = []string{tokens.Listener.Addr().String()}
	if _, err := pull(o, f.pinned()); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "Basic ") ||
		!strings.HasSuffix(asked[0], "repository:"+repo+":pull") {
		t.Errorf("asked for tokens: %q", asked)
	}

	// A token of 10 MB, an endless redirect of the token service, a token from a
	// host that the token service names.
	for name, h := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"token":"`)
			for range 200 {
				fmt.Fprint(w, strings.Repeat("x", 64<<10))
			}
			fmt.Fprint(w, `"}`)
		},
		"circle": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/token", http.StatusFound) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/x", http.StatusFound)
		},
	} {
		tokens.Config.Handler = h
		if _, err := pull(o, f.pinned()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Whatever name the challenge handler comes up with, only the registry's is looked up.
func TestCredentialsAreTheRegistrysOwn(t *testing.T) {
	find, err := New(Options{AuthFile: dockerConfig(t, "registry.example", "other.example")}).credentials(
		Reference{Host: "registry.example"})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"registry.example": "me", "other.example": "", "registry.example:8443": ""} {
		if cred, err := find(t.Context(), host); err != nil || cred.Username != want {
			t.Errorf("%s: %q (%v), want %q", host, cred.Username, err, want)
		}
	}
	// Docker Hub is known by one name and reached by another.
	find, err = New(Options{AuthFile: dockerConfig(t, "https://index.docker.io/v1/")}).credentials(
		Reference{Host: "docker.io"})
	if err != nil {
		t.Fatal(err)
	}
	if cred, err := find(t.Context(), "registry-1.docker.io"); err != nil || cred.Username != "me" {
		t.Errorf("Docker Hub: %q (%v)", cred.Username, err)
	}
}

// net/http sends the header on to subdomains of the first host, we do not.
func TestSubdomainsGetNoCredentials(t *testing.T) {
	g := newGuard(nil, "registry.example", false, nil, []string{"cdn.registry.example"})
	first := httptest.NewRequest(http.MethodGet, "https://registry.example/v2/", nil)
	next := httptest.NewRequest(http.MethodGet, "https://cdn.registry.example/blob", nil)
	next.Header.Set("Authorization", "Basic c2VjcmV0")
	if err := g.checkRedirect(next, []*http.Request{first}); err != nil {
		t.Fatal(err)
	}
	if h := next.Header.Get("Authorization"); h != "" {
		t.Errorf("%q goes on to the blob host", h)
	}
	next.Header.Set("Authorization", "Basic c2VjcmV0")
	if resp, err := g.RoundTrip(next); err == nil {
		resp.Body.Close()
		t.Error("a request with credentials left for the blob host")
	}
}

// Credentials for the registry do not go to the host that serves blobs.
func TestBlobHostsGetNoCredentials(t *testing.T) {
	f := newFake(t)
	var got []string
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.Write(f.module)
	}))
	defer cdn.Close()
	auth := challenge(`Basic realm="x"`, basic)
	f.lie = func(w http.ResponseWriter, r *http.Request) bool {
		if auth(w, r) {
			return true
		}
		if is(r, "blobs", phases.ByteDigest(f.module)) {
			http.Redirect(w, r, cdn.URL+"/blob", http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	o := Options{AuthFile: dockerConfig(t, f.host(), cdn.Listener.Addr().String()),
		BlobHosts: []string{cdn.Listener.Addr().String()}}
	if _, err := pull(o, f.pinned()); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != "" {
		t.Errorf("the blob host saw the credentials %q", got)
	}
	// A blob host that asks for credentials gets none.
	cdn.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	got = nil
	_, err := pull(o, f.pinned())
	wantClass(t, err, ErrAuth, "401")
	for _, a := range got {
		if a != "" {
			t.Errorf("the blob host saw the credentials %q", got)
		}
	}
}
