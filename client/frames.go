package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/ownfiles"
)

const (
	maxQuiet  = 4                // connections that are kept for the next question
	quietTime = 30 * time.Second // for how long; the daemon ends them after two minutes
)

// framed asks over the framed socket of a daemon. Each question has a connection for itself
// meanwhile. The zero value has no socket; it is safe for concurrent use.
type framed struct {
	dir string // of the socket; "": questions go over HTTP

	mu    sync.Mutex
	quiet []quietConn // the one used last at the end
}

type quietConn struct {
	daemonapi.Conn
	since time.Time
}

// conn returns a connection to send a question on. The errors are those of daemonapi.DialFrames.
func (f *framed) conn(ctx context.Context) (daemonapi.Conn, error) {
	if f.dir == "" {
		return nil, daemonapi.ErrNoFrames
	}
	for {
		f.mu.Lock()
		n := len(f.quiet)
		if n == 0 {
			f.mu.Unlock()
			return daemonapi.DialFrames(ctx, f.dir)
		}
		last := f.quiet[n-1]
		f.quiet = f.quiet[:n-1]
		f.mu.Unlock()
		if time.Since(last.since) < quietTime && daemonapi.Quiet(last.Conn) {
			return last.Conn, nil
		}
		_ = last.Close()
	}
}

// keep takes a connection back for the next question.
func (f *framed) keep(conn daemonapi.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.quiet) == maxQuiet {
		_ = f.quiet[0].Close()
		f.quiet = append(f.quiet[:0], f.quiet[1:]...)
	}
	f.quiet = append(f.quiet, quietConn{conn, time.Now()})
}

// close ends the connections on which nothing is asked.
func (f *framed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.quiet {
		_ = c.Close()
	}
	f.quiet = nil
}

// ask sends a question and decodes the answer, which has to be of that kind, into out. Without sent
// the question has to go over HTTP: there is no framed socket, or the question is too large for it.
func (f *framed) ask(ctx context.Context, question []byte, kind daemonapi.FrameKind, out any) (sent bool, err error) {
	if len(question) > daemonapi.FrameHeader+daemonapi.MaxQuestion {
		return false, nil
	}
	conn, err := f.conn(ctx)
	if errors.Is(err, daemonapi.ErrNoFrames) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	got, body, err := ownfiles.Exchange(ctx, conn, question, f.dir)
	if err != nil || ctx.Err() != nil {
		_ = conn.Close()
	} else {
		f.keep(conn)
	}
	if err != nil {
		return true, err
	}
	if got == daemonapi.FrameProblem {
		var p wire.FramedProblem
		if json.Unmarshal(body, &p) != nil || p.Error.Code == "" {
			return true, fmt.Errorf("%w: it answered with a problem that cannot be read", ErrSick)
		}
		return true, &Error{Status: p.Status, ProblemBody: p.Error, Event: p.Event}
	}
	if got != kind {
		return true, fmt.Errorf("%w: it answered something that was not asked", ErrSick)
	}
	if err := json.Unmarshal(body, out, jsontext.AllowDuplicateNames(false)); err != nil {
		return true, fmt.Errorf("%w: its answer cannot be read: %w", ErrSick, err)
	}
	return true, nil
}

// question returns a whole frame.
func question(kind daemonapi.FrameKind, flags daemonapi.FrameFlags, body []byte) []byte {
	b := make([]byte, 0, daemonapi.FrameHeader+len(body))
	b = daemonapi.AppendHeader(b, daemonapi.Header{Kind: kind, Flags: flags, Length: len(body)})
	return append(b, body...)
}
