package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/kernel"
)

// Bounds of what one question may learn of its caller's files.
const (
	lookTime = 150 * time.Millisecond // of one look at a link: less than a hook may take
	readTime = time.Second            // of one read or list, which come before any hook runs
)

// share is what one question may still ask of its caller.
type share struct {
	looks int           // of all kinds
	bytes int64         // that files hold
	time  time.Duration // of all looks
}

// What a decision may ask, and what the comparison of a session's log may, which comes behind it.
func forDeciding() share  { return share{looks: maxLooks, bytes: 64 << 20, time: 4 * time.Second} }
func forComparing() share { return share{looks: maxLooks, bytes: 128 << 20, time: 6 * time.Second} }

const maxLooks = 4096 // as many as a lease takes for one path

// Files is where the hooks of a tenant learn of symbolic links: never from the daemon's own view of the files. Without
// a tenant it is nil, the host's own view.
func (t *Tenant) Files() kernel.FileSystem {
	if t == nil {
		return nil
	}
	return hookFiles{}
}

// hookFiles is CallerFiles for hooks that run.
type hookFiles struct{}

type hookKey struct{}

// Readlink implements kernel.FileSystem.
func (hookFiles) Readlink(ctx context.Context, path string) (string, error) {
	return CallerFiles{}.Readlink(context.WithValue(ctx, hookKey{}, true), path)
}

// reading is the context of a decision: of a tenant's files this process reads nothing.
func (s *Server) reading(ctx context.Context) context.Context {
	if s.o.Tenant == nil {
		return ctx
	}
	return dispatch.WithFiles(ctx, CallerFiles{}, s.o.Tenant.Home)
}

type lookerKey struct{}

// looker asks the caller of one question about its files, while that is decided. Hooks may ask at the same time. After
// one answer that is none, or does not come in time, nothing more is asked, and the connection is of no further use.
type looker struct {
	conn     *frameConn
	in       *bufio.Reader
	contents bool // the caller tells what files hold, too
	log      *slog.Logger

	turn    *spareTurn // of the question; nil: it has none
	mu      sync.Mutex // a look is under way
	looks   int
	left    share
	opened  int   // how often a file was opened: the caller has one open
	spentUp bool  // nothing is left
	torn    bool  // the caller has answered something else, or not
	over    bool  // the question is answered
	decided bool  // what is asked now is not for the decision, but behind it
	fault   error // why the caller's files were not known any further for the decision
}

// unsound returns why the answers of the caller do not count any further, or nil, and how many looks there were.
func (l *looker) unsound() (looks int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looks, l.fault
}

// warn notes why the caller's files are not known any further. It names no path: those are the caller's.
func (l *looker) warn(ctx context.Context, err error) {
	if !l.decided {
		l.fault = err
	}
	l.log.LogAttrs(ctx, slog.LevelWarn, "the caller's files cannot be told", slog.Int("looks", l.looks),
		slog.Any("error", err))
}

var errManyLooks = errors.New("the question needs more looks, or more time for them, than one has")

// ask sends one frame and reads the answer to it. header reads its header, and body its body. Without ok it is not
// known.
func (l *looker) ask(ctx context.Context, most time.Duration, kind daemonapi.FrameKind, question []byte,
	header func([daemonapi.FrameHeader]byte) (daemonapi.Header, error), body func([]byte) (int, error)) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asking(ctx, most, kind, question, header, body)
}

// asking is ask. Preconditions: l.mu is held.
func (l *looker) asking(ctx context.Context, most time.Duration, kind daemonapi.FrameKind, question []byte,
	header func([daemonapi.FrameHeader]byte) (daemonapi.Header, error), body func([]byte) (int, error)) (ok bool) {
	if l.torn || l.over || l.spentUp || ctx.Err() != nil {
		return false
	}
	if l.left.looks <= 0 || l.left.time <= 0 || kind == daemonapi.FrameRead && l.left.bytes <= 0 {
		l.spentUp = true
		l.warn(ctx, errManyLooks)
		return false
	}
	l.looks++
	l.left.looks--
	back := func(context.Context) {}
	if ctx.Value(hookKey{}) == nil { // while one hook waits for a look, others may run
		back = l.turn.rest()
	}
	from := time.Now()
	n, err := l.exchange(most, kind, question, header, body)
	l.left.time -= time.Since(from)
	l.left.bytes -= int64(n)
	back(ctx)
	if err != nil {
		l.torn = true
		l.warn(ctx, err)
		return false
	}
	return true
}

// exchange asks, and reads the answer. Preconditions: l.mu is held.
func (l *looker) exchange(most time.Duration, kind daemonapi.FrameKind, question []byte,
	header func([daemonapi.FrameHeader]byte) (daemonapi.Header, error), body func([]byte) (int, error)) (int, error) {
	_ = l.conn.SetDeadline(time.Now().Add(most))
	q := daemonapi.AppendHeader(make([]byte, 0, daemonapi.FrameHeader+len(question)),
		daemonapi.Header{Kind: kind, Length: len(question)})
	if _, err := l.conn.Write(append(q, question...)); err != nil {
		return 0, err
	}
	var b [daemonapi.FrameHeader]byte
	if _, err := io.ReadFull(l.in, b[:]); err != nil {
		return 0, err
	}
	h, err := header(b)
	if err != nil {
		return 0, err
	}
	answer, err := daemonapi.ReadBody(l.in, h.Length)
	if err != nil {
		return 0, err
	}
	return body(answer)
}

// look asks where a path leads.
func (l *looker) look(ctx context.Context, path string) (found daemonapi.Found) {
	if !daemonapi.Lookable(path) {
		return daemonapi.Found{}
	}
	if !l.ask(
		ctx,
		lookTime,
		daemonapi.FrameLook,
		[]byte(path),
		daemonapi.DecodeFoundHeader,
		func(b []byte) (_ int, err error) {
			found, err = daemonapi.DecodeFound(b)
			return 0, err
		},
	) {
		return daemonapi.Found{}
	}
	return found
}

// again gives the question another share, for what comes behind its decision.
func (l *looker) again(s share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.spentUp, l.decided = s, false, true
}

// end stops asking, and reports whether the connection can take another question. A look that is under way is not
// waited for.
func (l *looker) end() (sound bool) {
	if l == nil {
		return true
	}
	_ = l.conn.SetReadDeadline(time.Unix(1, 0))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	return !l.torn
}
