package signing

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a conversation with a signing service.
const (
	KeylessTimeout = 30 * time.Second // for all services together
	maxAnswer      = 1 << 20          // bytes of one answer
	maxHeader      = 64 << 10         // bytes of its header
	maxURL         = 2048             // bytes of an address
)

// endpoint is one service, and the only way to it: a RoundTripper that talks to one
// host, follows nothing, and reads no more than it must.
type endpoint struct {
	what string // for people, such as "the certificate authority"
	url  *url.URL
	json bool // it answers in JSON
	ctx  context.Context
	tr   *http.Transport
}

// newEndpoint checks the address. The context bounds everything that goes through
// the endpoint, because the libraries that use it have no room for one. The error is
// ErrEndpoint.
func newEndpoint(ctx context.Context, what, address string, isJSON bool) (*endpoint, error) {
	refuse := func(text string) (*endpoint, error) {
		return nil, signFail(ErrEndpoint, what+": "+text)
	}
	if address == "" {
		return refuse("its address is missing")
	}
	u, err := url.Parse(address)
	if err != nil || len(address) > maxURL || u.Host == "" || u.Opaque != "" {
		return refuse("its address is not a URL such as https://HOST")
	}
	local := loopbackHost(u.Hostname())
	switch {
	case u.User != nil:
		return refuse("its address has a user or a password in it")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return refuse("its address has a query or a fragment in it")
	case u.Scheme == "http" && !local:
		return refuse("plain http is for this machine only: a listener could sign with the token; use https")
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("its address is not one of https")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	e := &endpoint{what: what + " at " + u.Host, url: u, json: isJSON, ctx: ctx, tr: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // or the transport would unpack an answer by itself
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
	}}
	if local {
		// The name was checked; the address behind it is checked again here.
		// And a service on this machine is not reached through another one.
		e.tr.Proxy = nil
		e.tr.DialContext = (&net.Dialer{Control: onlyLoopback}).DialContext
	}
	return e, nil
}

func onlyLoopback(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !ap.Addr().Unmap().IsLoopback() {
		return errors.New("the name stands for another machine")
	}
	return nil
}

func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// RoundTrip sends the request and reads the whole answer. Everything but a whole
// answer of status 2xx is an ErrService.
func (e *endpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	fail := func(format string, args ...any) (*http.Response, error) {
		return nil, signFail(ErrService, e.what+" "+fmt.Sprintf(format, args...))
	}
	if req.URL.Scheme != e.url.Scheme || req.URL.Host != e.url.Host {
		return fail("sent us elsewhere, which is not followed")
	}
	resp, err := e.tr.RoundTrip(req.WithContext(e.ctx))
	if err != nil {
		return fail("cannot be reached: %s", e.reason(err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return fail("answered with a redirect (status %d), which is not followed", resp.StatusCode)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fail("answered with status %d", resp.StatusCode)
	case resp.Header.Get("Content-Encoding") != "":
		return fail("answered in an encoding that was not asked for")
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fail("broke off its answer: %s", e.reason(err))
	case len(body) > maxAnswer:
		return fail("answered with more than %d bytes", maxAnswer)
	case e.json && !jsontext.Value(body).IsValid():
		return fail("answered with something that is not JSON without duplicate names")
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// reason says why a connection failed, in belay's words where the error could carry
// a service's.
func (e *endpoint) reason(err error) string {
	var op *net.OpError
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(e.ctx.Err(), context.DeadlineExceeded):
		return "no answer in time (" + KeylessTimeout.String() + " for all services together)"
	case e.ctx.Err() != nil:
		return "cancelled"
	case errors.As(err, &cert):
		return "its TLS certificate is not one that this machine trusts"
	case errors.As(err, &dns):
		return "there is no such host"
	case errors.As(err, &op):
		return op.Op + " failed: " + op.Err.Error()
	}
	return "the connection failed"
}

var _ http.RoundTripper = (*endpoint)(nil)
