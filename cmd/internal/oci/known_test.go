package oci

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
)

func TestKnownBlobHosts(t *testing.T) {
	for endpoint, want := range map[string]string{
		"ghcr.io":              "pkg-containers.githubusercontent.com",
		"registry-1.docker.io": "production.cloudfront.docker.com",
		"quay.io":              "cdn01.quay.io",
		"gcr.io":               "storage.googleapis.com",
		"eu.gcr.io":            "storage.googleapis.com",
		"public.ecr.aws":       "d5l0dvt14r5h8.cloudfront.net",
		"123456789012.dkr.ecr.eu-central-1.amazonaws.com":   "prod-eu-central-1-starport-layer-bucket.s3.eu-central-1.amazonaws.com",
		"123456789012.dkr.ecr-fips.us-east-1.amazonaws.com": "prod-us-east-1-starport-layer-bucket.s3.us-east-1.amazonaws.com",
		"123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn":  "prod-cn-north-1-starport-layer-bucket.s3.cn-north-1.amazonaws.com.cn",
	} {
		if got := knownBlobHosts(endpoint); !slices.Contains(got, want) {
			t.Errorf("%s: %v, not %s", endpoint, got, want)
		}
	}
	for _, endpoint := range []string{"", "ghcr.io:8443", "ghcr.io.example", "myghcr.io", "a.quay.io", "ghcrXio",
		"a.b.gcr.io",
		"evil.example", "123456789012.dkr.ecr.eu-central-1.amazonaws.com.example", "1.dkr.ecr.eu-central-1.amazonaws.com",
		"123456789012.dkr.ecr.eu.central.amazonaws.com", "europe-docker.pkg.dev", "ghcr.io\n"} {
		if got := knownBlobHosts(endpoint); got != nil {
			t.Errorf("%q has blobs at %v", endpoint, got)
		}
	}
	// Names only: no pattern, no port, no address.
	for _, s := range services() {
		for _, b := range s.blobs {
			if !regexp.MustCompile(`\A[a-z0-9]+(?:[.-][a-z0-9]+)+\.[a-z]+\z`).MatchString(strings.ReplaceAll(b, "${1}", "x")) {
				t.Errorf("%s: %q", s.endpoints, b)
			}
		}
	}
}

// redirecting is a registry that answers under a known name and sends blobs on to another host.
type redirecting struct {
	f      *fake
	to     string
	serve  []byte          // by the blob host
	blobs  []*http.Request // what came to the blob host
	client *Client
}

// newRedirecting answers for every name; the certificate is for host and to.
func newRedirecting(t *testing.T, host, to string) *redirecting {
	t.Helper()
	r := &redirecting{f: newFake(t), to: to}
	r.serve = r.f.module
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, _, _ := strings.Cut(req.Host, ":")
		switch digest := phases.ByteDigest(r.f.module); {
		case name != host:
			r.blobs = append(r.blobs, req)
			w.Write(r.serve)
		case !basic(req):
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case is(req, "blobs", digest):
			http.Redirect(w, req, "https://"+r.to+"/blob?signature=abc", http.StatusTemporaryRedirect)
		default:
			r.f.ServeHTTP(w, req)
		}
	}))
	config, authority := certificateFor(t, host, strings.TrimSuffix(to, ":8443"))
	srv.TLS = config
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority}), 0o600); err != nil {
		t.Fatal(err)
	}
	r.client = New(Options{CAFile: ca, AuthFile: dockerConfig(t, host, to)})
	r.client.dial = func(bool) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, srv.Listener.Addr().String())
		}
	}
	return r
}

// A pull needs no flag where a registry of the table redirects to where its blobs are; nothing
// goes anywhere else, whatever the registry says.
func TestPullFromKnownRegistries(t *testing.T) {
	for _, c := range []struct {
		host, to string
		ok       bool
	}{
		{"ghcr.io", "pkg-containers.githubusercontent.com", true},
		{"quay.io", "cdn03.quay.io", true},
		{"gcr.io", "storage.googleapis.com", true},
		{"public.ecr.aws", "d5l0dvt14r5h8.cloudfront.net", true},
		{"123456789012.dkr.ecr.eu-west-1.amazonaws.com", "prod-eu-west-1-starport-layer-bucket.s3.eu-west-1.amazonaws.com", true},
		{"123456789012.dkr.ecr.eu-west-1.amazonaws.com", "prod-eu-west-2-starport-layer-bucket.s3.eu-west-2.amazonaws.com", false},
		{"ghcr.io", "pkg-containers.githubusercontent.com:8443", false},
		{"ghcr.io", "raw.githubusercontent.com", false},
		{"ghcr.io", "cdn.quay.io", false},
		{"registry.example", "pkg-containers.githubusercontent.com", false},
	} {
		t.Run(c.host+" to "+c.to, func(t *testing.T) {
			r := newRedirecting(t, c.host, c.to)
			p, err := r.client.Pull(t.Context(), Reference{Host: c.host, Repo: repo, Digest: r.f.digest})
			if !c.ok {
				wantClass(t, err, ErrRedirect, strings.TrimSuffix(c.to, ":8443"))
				if len(r.blobs) != 0 {
					t.Errorf("%d requests went there", len(r.blobs))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(p.Module) != string(r.f.module) || len(r.blobs) != 1 {
				t.Errorf("%q after %d requests", p.Module, len(r.blobs))
			}
			for _, req := range r.blobs {
				if h := req.Header.Get("Authorization"); h != "" {
					t.Errorf("the blob host saw the credentials %q", h)
				}
			}
		})
	}
}

// Content is taken by its digest, from a known host too.
func TestKnownHostsCannotLie(t *testing.T) {
	r := newRedirecting(t, "ghcr.io", "pkg-containers.githubusercontent.com")
	r.serve = module("a hooK") // as long as the right one
	_, err := r.client.Pull(t.Context(), Reference{Host: "ghcr.io", Repo: repo, Digest: r.f.digest})
	wantClass(t, err, ErrDigest, "")
}

// certificateFor is a certificate of its own authority, for some names.
func certificateFor(t *testing.T, names ...string) (config *tls.Config, authority []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, der
}
