package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
)

const (
	maxRedirects = 3
	maxAddresses = 16 // of one host that are looked at
	maxDials     = 3  // of these that are tried
)

// Outcomes of a request.
const (
	OK      = "ok"
	Failed  = "error"
	Timeout = "timeout"
)

// Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are what a Client uses. The zero value is the usual one.
type Options struct {
	Resolver Resolver                                                          // nil: the system's
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a plain connection
	Roots    *x509.CertPool                                                    // nil: the system's
}

// Client answers the requests of one binding. It is safe for concurrent use.
type Client struct {
	p *Policy
	o Options
}

// New returns a client that keeps to the policy.
func New(p *Policy, o Options) *Client {
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	return &Client{p: p, o: o}
}

// Call is a request that may be sent, once.
type Call struct {
	Record jsontext.Value // of the request, for the log; not redacted

	c       *Client
	req     *request
	timeout time.Duration
}

// Result is what came of a request.
type Result struct {
	Reply   jsontext.Value // for the hook
	Summary jsontext.Value // for the log
	Outcome string
	Reason  string
}

// Prepare checks a request document. Nothing is sent. The error is a *hostcalls.Refusal.
func (c *Client) Prepare(raw jsontext.Value) (*Call, error) {
	req, d, err := c.p.parse(raw)
	if err != nil {
		return nil, err
	}
	record, err := req.record()
	if err != nil {
		return nil, refusal(hostcalls.Invalid, "the request is not valid")
	}
	call := &Call{Record: record, c: c, req: req, timeout: c.p.timeout}
	if d.TimeoutMS > 0 {
		call.timeout = min(call.timeout, time.Duration(d.TimeoutMS)*time.Millisecond)
	}
	return call, nil
}

// failure is something that the network or the server did wrong; the text is shown.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// answer is what a server said.
type answer struct {
	status    int
	header    http.Header
	body      []byte
	redirects int
	address   netip.Addr
}

// Send sends the request and follows at most three redirects. The error is a
// *hostcalls.Refusal; what the network or the server did wrong is an Outcome.
func (call *Call) Send(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, call.timeout)
	defer cancel()
	a, err := call.c.follow(ctx, call.req)
	var r *hostcalls.Refusal
	if errors.As(err, &r) {
		return Result{Outcome: Failed, Reason: err.Error()}, r
	}
	if err != nil {
		res := Result{Outcome: Failed, Reason: "the request failed"}
		var f *failure
		if errors.As(err, &f) {
			res.Reason = f.text
		}
		if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			res.Outcome, res.Reason = Timeout, "no answer in time"
		}
		res.Reply, err = json.Marshal(map[string]string{"outcome": res.Outcome, "error": res.Reason},
			json.Deterministic(true))
		return res, err
	}
	return call.c.result(a)
}

// follow sends a request and whatever its answers send it on to.
func (c *Client) follow(ctx context.Context, req *request) (*answer, error) {
	for n := 0; ; n++ {
		a, err := c.once(ctx, req)
		if err != nil {
			return nil, err
		}
		a.redirects = n
		switch a.status {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
			http.StatusPermanentRedirect:
		default:
			return a, nil
		}
		where := a.header.Get("Location")
		if where == "" {
			return a, nil
		}
		if n == maxRedirects {
			return nil, refusal(hostcalls.Denied, "more than "+strconv.Itoa(maxRedirects)+" redirects")
		}
		if req, err = c.p.redirect(req, where, a.status); err != nil {
			return nil, err
		}
	}
}

// redirect returns the request that an answer asks for. It passes every test that
// the first one had to pass.
func (p *Policy) redirect(from *request, where string, status int) (*request, error) {
	ref, err := url.Parse(where)
	if err != nil || len(where) > maxURL {
		return nil, refusal(hostcalls.Denied, "a redirect is not valid")
	}
	next := from.url.ResolveReference(ref)
	next.Fragment, next.RawFragment = "", ""
	u, to, err := parseURL(next.String())
	switch {
	case err != nil:
		return nil, refusal(hostcalls.Denied, "a redirect is not valid")
	case from.to.scheme == "https" && to.scheme != "https":
		return nil, refusal(hostcalls.Denied, "a redirect leads from https to http")
	case !p.hosts[to]:
		return nil, refusal(hostcalls.Denied, "a redirect leads to a host that is not allowed")
	}
	req := &request{method: from.method, url: u, to: to, headers: from.headers.Clone(), body: from.body}
	if status == http.StatusSeeOther && req.method != "HEAD" || req.method == "POST" &&
		(status == http.StatusMovedPermanently || status == http.StatusFound) {
		req.method, req.body = "GET", nil
		req.headers.Del("Content-Type")
	}
	if !slices.Contains(p.methods, req.method) {
		return nil, refusal(hostcalls.Denied, "a redirect needs a method that is not allowed")
	}
	if to != from.to {
		// A hook can send a secret under any name.
		for name := range req.headers {
			if name != "Accept" && name != "Accept-Language" && name != "Content-Type" {
				req.headers.Del(name)
			}
		}
	}
	return req, nil
}

// once sends one request to an address of its host.
func (c *Client) once(ctx context.Context, req *request) (*answer, error) {
	addrs, err := c.resolve(ctx, req.to.host)
	if err != nil {
		return nil, err
	}
	conn, addr, err := c.connect(ctx, addrs, req.to.port)
	if err != nil {
		return nil, err
	}
	used := false
	transport := &http.Transport{
		// The one connection that was checked, and no other.
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if used {
				return nil, errors.New("one connection for one request")
			}
			used = true
			return conn, nil
		},
		TLSClientConfig:   &tls.Config{ServerName: req.to.host, RootCAs: c.o.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
	}
	defer conn.Close()
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, req.method, req.url.String(), bytes.NewReader(req.body))
	if err != nil {
		return nil, refusal(hostcalls.Invalid, "the request is not valid")
	}
	r.Header = req.headers.Clone()
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "belay")
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		var cert *tls.CertificateVerificationError
		if errors.As(err, &cert) {
			return nil, &failure{"the server's certificate is not valid for the host", err}
		}
		return nil, &failure{"the server did not answer the request", err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(c.p.max)+1))
	switch {
	case len(body) > c.p.max:
		return nil, refusal(hostcalls.TooLarge, "the answer is too large")
	case err != nil:
		return nil, &failure{"the answer ended too early", err}
	case ctx.Err() != nil:
		// The end that was read may be what the server said to our hanging up.
		return nil, &failure{"the answer ended too early", ctx.Err()}
	}
	return &answer{status: res.StatusCode, header: res.Header, body: body, address: addr}, nil
}

// resolve asks for the addresses of a host, once. One that may not be reached
// refuses them all: a name that points inside as well as outside is not to be trusted.
func (c *Client) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, a)
	} else if addrs, err = c.o.Resolver.LookupNetIP(ctx, "ip", host); err != nil || len(addrs) == 0 {
		return nil, &failure{"the host's address could not be found", err}
	}
	addrs = slices.Clone(addrs[:min(len(addrs), maxAddresses)])
	for i, a := range addrs {
		if !c.p.reachable(host, a) {
			return nil, refusal(hostcalls.Denied, "the host's address is not a public one, and not allowed")
		}
		addrs[i] = a.Unmap()
	}
	return addrs, nil
}

func (c *Client) connect(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, netip.Addr, error) {
	var last error
	for _, a := range addrs[:min(len(addrs), maxDials)] {
		conn, err := c.o.Dial(ctx, "tcp", netip.AddrPortFrom(a, port).String())
		if err == nil {
			return conn, a, nil
		}
		if last = err; ctx.Err() != nil {
			break
		}
	}
	return nil, netip.Addr{}, &failure{"the host could not be reached", last}
}

// shown lists the headers of answers that hooks see.
var shown = []string{"content-type", "content-length", "content-language", "date", "etag", "last-modified",
	"cache-control", "retry-after", "link", "deprecation", "sunset"}

// result makes the documents of an answer.
func (c *Client) result(a *answer) (Result, error) {
	headers := map[string]string{}
	for name, values := range a.header {
		if lower := strings.ToLower(name); slices.Contains(shown, lower) || slices.Contains(c.p.headers, lower) {
			headers[lower] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	reply := struct {
		Outcome   string            `json:"outcome"`
		Status    int               `json:"status"`
		Headers   map[string]string `json:"headers"`
		Body      *string           `json:"body,omitzero"`
		Base64    *string           `json:"body_base64,omitzero"`
		Redirects int               `json:"redirects"`
	}{Outcome: OK, Status: a.status, Headers: headers, Redirects: a.redirects}
	if utf8.Valid(a.body) {
		s := string(a.body)
		reply.Body = &s
	} else {
		s := base64.StdEncoding.EncodeToString(a.body)
		reply.Base64 = &s
	}
	raw, err := json.Marshal(&reply, json.Deterministic(true))
	if err != nil {
		return Result{}, err
	}
	if len(raw) > hostcalls.DefaultLimits().Reply {
		return Result{Outcome: Failed, Reason: "the answer is too large"},
			refusal(hostcalls.TooLarge, "the answer is too large")
	}
	summary, err := json.Marshal(struct {
		Status    int    `json:"status"`
		Bytes     int    `json:"bytes"`
		Redirects int    `json:"redirects"`
		Address   string `json:"address"`
	}{a.status, len(a.body), a.redirects, a.address.String()})
	return Result{Reply: raw, Summary: summary, Outcome: OK}, err
}
