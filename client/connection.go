package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/phases"
)

// Classes of errors, for errors.Is.
var (
	// ErrNotRunning: no daemon serves the state directory. It is never returned
	// when one is there and does not answer as it should.
	ErrNotRunning = daemonapi.ErrNotRunning
	// ErrSick: there is a daemon, and it does not answer, or not as it should.
	ErrSick = daemonapi.ErrSick
	// ErrRefused: the daemon has answered with a problem; see Error.
	ErrRefused = errors.New("client: the daemon has refused")
)

// Error is a problem that the daemon has answered with: ErrRefused for errors.Is.
type Error struct {
	Status int // of HTTP
	wire.ProblemBody
	Event *phases.EventRef // the record of a refused action, when there is one
}

// Error returns the daemon's message.
func (e *Error) Error() string { return e.Message }

// Is reports the class ErrRefused.
func (e *Error) Is(target error) bool { return target == ErrRefused }

// Options are the ways to reach a daemon. Socket or URL is needed.
type Options struct {
	Socket string // path of its unix socket
	// Frames is the state directory whose framed socket takes what is asked about actions; "": that
	// goes over HTTP. A daemon without one is asked over HTTP all the same.
	Frames string
	// Whole asks for verdicts with the hooks' reports, the redacted pointers, the policy's revision and
	// the action's digest. Without it a verdict of Invoke may lack them; decisions are the same.
	Whole  bool
	URL    string          // of its loopback listener, such as https://127.0.0.1:4170
	Tokens map[Role]string // on a socket RoleInvoke needs none

	// Certificate is what keys/tls.crt of the daemon's state directory holds; ReadCertificate
	// reads it. URL needs it: nothing is sent to a listener that does not hold its key.
	Certificate []byte

	// Timeout bounds every request but a stream; 0 means 90 s, which is above what
	// the daemon allows itself.
	Timeout time.Duration
}

// Client is a connection to a daemon. It is safe for concurrent use.
type Client struct {
	base    string
	tokens  map[Role]string
	timeout time.Duration
	whole   bool
	http    *http.Client
	framed  framed
}

const (
	defaultTime = 90 * time.Second
)

// New returns a client without looking for a daemon. It knows the daemon before
// it sends anything: on a socket by the uid of the process that listens, at a
// URL by the key of Certificate. Otherwise calls fail with ErrPeer.
func New(options Options) (*Client, error) {
	daemon := &Client{tokens: options.Tokens, timeout: options.Timeout, base: "http://belay",
		whole: options.Whole, framed: framed{dir: options.Frames}}
	if daemon.timeout == 0 {
		daemon.timeout = defaultTime
	}
	transport := &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
		DisableCompression: true}
	switch {
	case options.Socket != "" && options.URL == "":
		transport.DialContext = dialSocket(daemonapi.SocketAt(options.Socket))
	case options.URL != "" && options.Socket == "" && options.Frames == "":
		target, err := url.Parse(options.URL)
		if err != nil || target.Scheme != "https" && target.Scheme != "http" || target.Host == "" ||
			strings.Trim(target.Path, "/") != "" ||
			target.RawQuery != "" || target.User != nil {
			return nil, errors.New("client: the URL must be https://ADDRESS:PORT")
		}
		if ip := net.ParseIP(target.Hostname()); ip == nil || !ip.IsLoopback() {
			return nil, errors.New("client: the URL must name a loopback address")
		}
		if target.Scheme != "https" || len(options.Certificate) == 0 {
			return nil, errPlain
		}
		if transport.TLSClientConfig, err = pinned(options.Certificate); err != nil {
			return nil, err
		}
		transport.DialContext, daemon.base = (&net.Dialer{Timeout: daemonapi.DialTime}).DialContext, "https://"+target.Host
	default:
		return nil, errors.New("client: give a socket, with or without frames, or a URL")
	}
	daemon.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return daemon, nil
}

// Dial returns a client of the daemon that serves the state directory, with those
// of its tokens that the caller can read. The error is ErrNotRunning when there is
// certainly none: no socket, or one that a daemon has left behind.
//
// On a machine in system mode Dial returns a client of the machine's daemon, whatever dir is, unless
// this process is root's or the daemon's, or /etc/belay/system.yaml allows state directories. Nothing stands in for
// that daemon: the error is never ErrNotRunning then.
func Dial(dir string) (*Client, error) {
	dir, err := inForce(dir)
	if err != nil {
		return nil, err
	}
	conn, err := daemonapi.DialDir(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	_ = conn.Close() // each request brings its own, which is looked at in the same way
	tokens := map[Role]string{}
	for _, r := range Roles() {
		if t, err := ReadToken(dir, r); err == nil {
			tokens[r] = t
		}
	}
	return New(Options{Socket: filepath.Join(dir, daemonapi.SocketName), Frames: dir, Tokens: tokens})
}

// inForce returns the directory whose daemon decides.
func inForce(dir string) (string, error) {
	if !daemonapi.SystemMode() {
		return dir, nil
	}
	switch on, err := system.Asked(system.Load, system.StateDir, os.Geteuid(), true); {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrSick, err)
	case on:
		return daemonapi.SystemDir, nil
	}
	return dir, nil
}

// SetToken gives the client the token of a role. It is not safe while requests run.
func (c *Client) SetToken(r Role, token string) {
	if c.tokens == nil {
		c.tokens = map[Role]string{}
	}
	c.tokens[r] = token
}

// Close releases the connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	c.framed.close()
	return nil
}

// request is one question.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	roles        []Role // which credential to send: the first there is
	accept       string
	statement    string // for StatementHeader
	headless     bool   // for HeadlessHeader
	also         int    // a status besides 200 that comes with the answer
}

func (c *Client) send(ctx context.Context, request request) (*http.Response, error) {
	u := c.base + request.path
	if len(request.query) > 0 {
		u += "?" + request.query.Encode()
	}
	var body io.Reader
	if request.body != nil {
		body = bytes.NewReader(request.body)
	}
	req, err := http.NewRequestWithContext(ctx, request.method, u, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSick, err)
	}
	if request.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if request.statement != "" {
		req.Header.Set(daemonapi.StatementHeader, request.statement)
	}
	if request.headless {
		req.Header.Set(daemonapi.HeadlessHeader, "1")
	}
	if request.accept != "" {
		req.Header.Set("Accept", request.accept)
	}
	for _, r := range request.roles {
		if t := c.tokens[r]; t != "" {
			req.Header.Set("Authorization", "Bearer "+t)
			break
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, asPeer(err)
	}
	return resp, nil
}

// call sends a request and decodes the answer into out, which must be a pointer.
func (c *Client) call(ctx context.Context, request request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	resp, err := c.send(ctx, request)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, daemonapi.MaxAnswer+1))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSick, err)
	}
	if len(data) > daemonapi.MaxAnswer {
		return fmt.Errorf("%w: its answer is larger than %d bytes", ErrSick, daemonapi.MaxAnswer)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != request.also {
		return refusal(resp, data)
	}
	if !isJSON(resp) {
		return fmt.Errorf("%w: its answer is not JSON", ErrSick)
	}
	if err := json.Unmarshal(data, out, jsontext.AllowDuplicateNames(false)); err != nil {
		return fmt.Errorf("%w: its answer cannot be read: %w", ErrSick, err)
	}
	return nil
}

func isJSON(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(kind) == "application/json"
}

// refusal reads a problem. An answer of another form means that the daemon is not well.
func refusal(resp *http.Response, b []byte) error {
	var p wire.Problem
	if !isJSON(resp) || json.Unmarshal(b, &p) != nil || p.Error.Code == "" {
		return fmt.Errorf("%w: it answered with status %d", ErrSick, resp.StatusCode)
	}
	return &Error{Status: resp.StatusCode, ProblemBody: p.Error, Event: p.Event}
}
