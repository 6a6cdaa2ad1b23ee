package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/belay-hooks/belay/internal/files"
)

// Options says how to talk to registries. The zero value talks TLS to all but
// this machine, knows no credentials and follows no redirect to another host.
type Options struct {
	// UnsafePlainHTTP talks without TLS, to any host: an eavesdropper can read
	// credentials and requests. Digests still hold.
	UnsafePlainHTTP bool
	// ForceTLS talks TLS to this machine too.
	ForceTLS bool
	// AuthFile is a Docker configuration (config.json) with credentials or the
	// helpers that have them; it may be missing. Empty: no credentials.
	AuthFile string
	// CAFile is a PEM file with the certificates to trust instead of the system's.
	CAFile string
	// TokenHosts (host or host:port) may be sent the registry's credentials when
	// the registry asks for a token from there.
	TokenHosts []string
	// BlobHosts (host or host:port) may serve content that the registry redirects
	// to, beside those that are known to belong to it (services). They are never sent credentials.
	BlobHosts []string
	// Timeout bounds a whole push or pull; 0 means DefaultTimeout.
	Timeout time.Duration
	// Progress is told each step: done of total bytes, or 0 of 0. It is called
	// from one goroutine, at most once for every 64 KiB.
	Progress func(step string, done, total int64)
}

// Client pushes and pulls. It holds no connection and no state between calls and
// is safe for concurrent use.
type Client struct {
	o    Options
	dial func(onlyLoopback bool) func(context.Context, string, string) (net.Conn, error)
}

// New returns a client.
func New(o Options) *Client { return &Client{o: o, dial: dialer} }

// session is one push or pull with one registry.
type session struct {
	ref      Reference
	base     string // https://HOST/v2/REPO
	plain    bool
	client   *auth.Client
	closer   func()
	progress func(string, int64, int64)
}

func (c *Client) open(ref Reference) (*session, error) {
	plain := c.o.UnsafePlainHTTP || ref.Loopback() && !c.o.ForceTLS
	pool, err := c.roots()
	if err != nil {
		return nil, err
	}
	creds, err := c.credentials(ref)
	if err != nil {
		return nil, err
	}
	tr := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            c.dial(plain && !c.o.UnsafePlainHTTP),
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool},
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        dialTimeout,
		MaxResponseHeaderBytes: maxHeader,
		MaxConnsPerHost:        4,
		ForceAttemptHTTP2:      true,
		// Without this, the transport would ask for gzip and unpack it by itself.
		DisableCompression: true,
	}
	if ref.Loopback() {
		tr.Proxy = nil
	}
	g := newGuard(tr, ref.endpoint(), plain, c.o.TokenHosts, c.o.BlobHosts)
	s := &session{
		ref: ref, plain: plain, base: g.scheme + "://" + ref.endpoint() + "/v2/" + ref.Repo, progress: c.o.Progress,
		client: &auth.Client{
			Client:     &http.Client{Transport: g, CheckRedirect: g.checkRedirect},
			Header:     http.Header{"User-Agent": {"belay"}},
			Credential: creds,
			Cache:      auth.NewCache(),
			ClientID:   "belay",
		},
		closer: tr.CloseIdleConnections,
	}
	if s.progress == nil {
		s.progress = func(string, int64, int64) {}
	}
	return s, nil
}

// within bounds the operation and its open connections.
func (c *Client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	d := c.o.Timeout
	if d == 0 {
		d = DefaultTimeout
	}
	return context.WithTimeout(ctx, d)
}

func (c *Client) roots() (*x509.CertPool, error) {
	if c.o.CAFile == "" {
		return nil, nil
	}
	bad := func(text string, err error) error {
		return &Error{Class: ErrConfig, Op: "read the CA file", Ref: c.o.CAFile, Text: text, Cause: err}
	}
	pem, err := files.Read(c.o.CAFile, MaxManifest)
	if err != nil {
		return nil, bad("it cannot be read", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, bad("there is no certificate in it", nil)
	}
	return pool, nil
}

// credentials returns the function that the challenge handler asks. Whatever
// host it asks for, only the registry's own name is ever looked up.
func (c *Client) credentials(ref Reference) (auth.CredentialFunc, error) {
	if c.o.AuthFile == "" {
		return nil, nil
	}
	store, err := credentials.NewStore(c.o.AuthFile, credentials.StoreOptions{})
	if err != nil {
		return nil, &Error{Class: ErrConfig, Op: "read the credentials", Ref: c.o.AuthFile,
			Text: "it is not a Docker configuration", Cause: err}
	}
	find := credentials.Credential(store)
	return func(ctx context.Context, hostport string) (auth.Credential, error) {
		if !strings.EqualFold(hostport, ref.endpoint()) {
			return auth.EmptyCredential, nil
		}
		cred, err := find(ctx, hostport)
		if err != nil {
			return auth.EmptyCredential,
				&Error{Class: ErrConfig, Op: "find the credentials for", Ref: hostport, Text: "the credential helper failed",
					Cause: err}
		}
		return cred, nil
	}, nil
}

// scoped says which token to ask for, should the registry want one.
func (s *session) scoped(ctx context.Context, actions ...string) context.Context {
	return auth.AppendRepositoryScope(ctx, s.orasRef(), actions...)
}

func (s *session) orasRef() registry.Reference {
	return registry.Reference{Registry: s.ref.endpoint(), Repository: s.ref.Repo}
}
