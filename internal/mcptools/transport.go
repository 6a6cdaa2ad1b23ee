package mcptools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport returns the way to a server, and what ends it. changed is set when the server says that
// its tools are others now.
func (s *server) transport(ctx context.Context, changed *atomic.Bool) (mcp.Transport, func(), error) {
	if s.spec.URL != "" {
		return s.http()
	}
	if s.o.Start != nil {
		return s.elsewhere(ctx, changed)
	}
	if s.o.NoPrograms {
		return nil, nil, errors.New("this belay starts no programs: a server that is one cannot be used here")
	}
	env := []string{}
	for _, name := range s.spec.Env {
		v, ok := s.o.LookupEnv(name)
		if !ok {
			return nil, nil, fmt.Errorf("the environment variable %s is not set", name)
		}
		env = append(env, name+"="+v)
	}
	p, err := startProcess(s.spec.Command, env, s.spec.Dir, newStderrLog(s.log, env, s.o.Cover), s.log)
	if err != nil {
		return nil, nil, err
	}
	return listener{&mcp.IOTransport{Reader: p.stdout, Writer: p.stdin, MaxLineLength: maxFrame}, changed}, p.end, nil
}

// elsewhere has the server started by another process, which looks its command up by itself.
func (s *server) elsewhere(ctx context.Context, changed *atomic.Bool) (mcp.Transport, func(), error) {
	p, err := s.o.Start(ctx, s.spec.Name, s.spec.Command, s.spec.Env, s.spec.Dir, newStderrLog(s.log, nil, s.o.Cover))
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = p.Close() } // it says in reading what went wrong
	return listener{&mcp.IOTransport{Reader: p, Writer: p, MaxLineLength: maxFrame}, changed}, end, nil
}

// listener hears a server out only as far as it has been asked something.
type listener struct {
	mcp.Transport
	changed *atomic.Bool
}

func (l listener) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := l.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &listening{Connection: c, changed: l.changed}, nil
}

// listening drops a server's notifications, none of which means anything here but that its
// tools have changed: that one passes once until belay has looked at them. It ends the connection
// of a server that sends requests without reading the answers: the library would queue all of them.
type listening struct {
	mcp.Connection
	asked   atomic.Int64
	changed *atomic.Bool
}

const toolsChanged = "notifications/tools/list_changed"

func (l *listening) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := l.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		switch r, ok := msg.(*jsonrpc.Request); {
		case !ok:
			return msg, nil
		case r.Method == toolsChanged && !l.changed.Swap(true):
			return msg, nil // the library forgets the list that it has kept
		case !r.IsCall():
		case l.asked.Add(1) > maxAsked:
			return nil, errTooMuch
		default:
			return msg, nil
		}
	}
}

func (l *listening) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := l.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok && err == nil {
		l.asked.Add(-1)
	}
	return err
}

func (s *server) http() (mcp.Transport, func(), error) {
	headers := http.Header{}
	for name, variable := range s.spec.Headers {
		v, ok := s.o.LookupEnv(variable)
		if !ok {
			return nil, nil, fmt.Errorf("the environment variable %s is not set", variable)
		}
		headers.Set(name, v)
	}
	base := &http.Transport{ // no proxy of the environment
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		MaxConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	client := &http.Client{
		Transport: headerTransport{base, headers},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("an MCP server may not redirect")
		},
	}
	return &mcp.StreamableClientTransport{Endpoint: s.spec.URL, HTTPClient: client, MaxRetries: -1,
			DisableStandaloneSSE: true, MaxEventSize: maxFrame},
		base.CloseIdleConnections, nil
}

// headerTransport adds the operator's headers and bounds what comes back.
type headerTransport struct {
	base    http.RoundTripper
	headers http.Header
}

func (t headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, v := range t.headers {
		r.Header[name] = slices.Clone(v)
	}
	res, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &bounded{ReadCloser: res.Body, left: 2 * maxFrame}
	return res, nil
}

var errTooMuch = errors.New("the server sends too much")

// bounded fails when more comes than it should.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
