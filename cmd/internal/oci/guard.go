package oci

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// guard is the transport below everything else, the challenge handler included:
// no request leaves for a host, and no body comes back, that it did not let pass.
type guard struct {
	next       http.RoundTripper
	scheme     string // of the registry
	registry   string // canonical host:port
	tokenHosts map[string]bool
	blobHosts  map[string]bool
}

// What the registry may ask a token from without being told: Docker Hub's two
// names belong together.
const (
	hubEndpoint = "registry-1.docker.io"
	hubTokens   = "auth.docker.io"
)

func newGuard(next http.RoundTripper, endpoint string, plain bool, tokenHosts, blobHosts []string) *guard {
	g := &guard{next: next, scheme: "https", tokenHosts: map[string]bool{}, blobHosts: map[string]bool{}}
	if plain {
		g.scheme = "http"
	}
	g.registry = canonical(&url.URL{Scheme: g.scheme, Host: endpoint})
	for _, h := range tokenHosts {
		g.tokenHosts[canonical(&url.URL{Scheme: g.schemeOf(h), Host: h})] = true
	}
	for _, h := range blobHosts {
		g.blobHosts[canonical(&url.URL{Scheme: g.schemeOf(h), Host: h})] = true
	}
	if !plain {
		for _, h := range knownBlobHosts(endpoint) {
			g.blobHosts[h+":443"] = true
		}
	}
	if endpoint == hubEndpoint {
		g.tokenHosts[hubTokens+":443"] = true
	}
	return g
}

// schemeOf is what must be spoken to a host: TLS, but to this machine what the
// registry on it speaks.
func (g *guard) schemeOf(host string) string {
	if loopback(host) {
		return g.scheme
	}
	return "https"
}

// canonical is the lower-case host with its port written out.
func canonical(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
		if strings.EqualFold(u.Scheme, "http") {
			port = "80"
		}
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

func (g *guard) isRegistry(u *url.URL) bool {
	return u.Scheme == g.scheme && canonical(u) == g.registry
}

func (g *guard) mayAsk(u *url.URL) bool {
	return g.isRegistry(u) || u.Scheme == g.schemeOf(u.Host) && g.tokenHosts[canonical(u)]
}

func (g *guard) mayServe(u *url.URL) bool {
	return u.Scheme == g.schemeOf(u.Host) && g.blobHosts[canonical(u)]
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	reading := req.Method == http.MethodGet || req.Method == http.MethodHead
	switch {
	case req.URL.User != nil:
		return nil, fail(ErrRedirect, "an address with a user name in it")
	case g.mayAsk(req.URL):
	case g.mayServe(req.URL) && reading && req.Header.Get("Authorization") == "":
	default:
		return nil, g.tokenHost(req.URL)
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := g.checkResponse(req, resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = &capped{ReadCloser: resp.Body, left: MaxModule}
	return resp, nil
}

func (g *guard) tokenHost(u *url.URL) error {
	return fail(ErrTokenHost, "it asks for a token from "+quote(u.Scheme+"://"+u.Host)+", which is not the registry")
}

// checkResponse looks at headers only, before the body is read.
func (g *guard) checkResponse(req *http.Request, resp *http.Response) error {
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return fail(ErrEncoding, "Content-Encoding: "+quote(enc))
	}
	if req.Method != http.MethodHead && resp.ContentLength > MaxModule {
		return fail(ErrTooLarge, fmt.Sprintf("the answer is announced with %d bytes", resp.ContentLength))
	}
	if !g.isRegistry(req.URL) {
		return nil
	}
	if resp.StatusCode == http.StatusUnauthorized {
		if realm := realmOf(resp.Header.Get("WWW-Authenticate")); realm != nil && !g.mayAsk(realm) {
			return g.tokenHost(realm)
		}
	}
	// Where an upload goes on is in Location, too; the client follows it by itself.
	if loc := resp.Header.Get("Location"); loc != "" && resp.StatusCode/100 == 2 {
		u, err := req.URL.Parse(loc)
		if err != nil || !g.isRegistry(u) && req.Method != http.MethodPut {
			return g.redirect(u)
		}
	}
	return nil
}

var realmForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\brealm="?([^",\s]+)`) })

// realmOf finds the token service of a bearer challenge, for a clear message
// before anything is sent; RoundTrip refuses it in any case.
func realmOf(challenge string) *url.URL {
	if len(challenge) < 7 || !strings.EqualFold(challenge[:7], "bearer ") {
		return nil
	}
	m := realmForm().FindStringSubmatch(challenge)
	if m == nil {
		return nil
	}
	u, err := url.Parse(m[1])
	if err != nil {
		return nil
	}
	return u
}

// checkRedirect is http.Client.CheckRedirect.
func (g *guard) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fail(ErrRedirect, fmt.Sprintf("more than %d in a row", maxRedirects))
	}
	first := via[0].URL
	if first.Scheme == req.URL.Scheme && canonical(first) == canonical(req.URL) {
		return nil
	}
	reading := req.Method == http.MethodGet || req.Method == http.MethodHead
	if g.isRegistry(first) && reading && g.mayServe(req.URL) {
		// net/http keeps the header for subdomains of the first host.
		req.Header.Del("Authorization")
		return nil
	}
	return g.redirect(req.URL)
}

func (g *guard) redirect(u *url.URL) error {
	where := "nowhere"
	if u != nil {
		where = quote(u.Scheme + "://" + u.Host)
	}
	return fail(ErrRedirect, "it sends us on to "+where)
}

// capped ends a body that goes on and on. What reads it has its own, tighter
// limits; this one is for what others read: errors, tokens.
type capped struct {
	io.ReadCloser
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.ReadCloser.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return n, fail(ErrTooLarge, fmt.Sprintf("the answer does not end after %d bytes", MaxModule))
	}
	return n, err
}

// dialer makes connections; with onlyLoopback it refuses, after the name was
// resolved, every address that is not this machine's.
func dialer(onlyLoopback bool) func(context.Context, string, string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTimeout}
	if onlyLoopback {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil || !ap.Addr().Unmap().IsLoopback() {
				return fail(ErrPlainHTTP, "the name stands for "+quote(address)+", which is not this machine")
			}
			return nil
		}
	}
	return d.DialContext
}

var _ http.RoundTripper = (*guard)(nil)
