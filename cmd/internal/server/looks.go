package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/kernel"
)

// Bounds of what one question may learn of its caller's files.
const (
	lookTime  = 150 * time.Millisecond // of one look: less than a hook may take
	looksTime = 2 * time.Second        // of all looks
	maxLooks  = 4096                   // as many as a lease takes for one path
)

// CallerFiles is a kernel.FileSystem for a daemon that serves a user of another uid: it asks the one who asks, on the
// connection of the question, and never looks by itself. The daemon's own view of a path would be another one. What is
// not told, also where the connection cannot tell, cannot be told.
type CallerFiles struct{}

var _ kernel.FileSystem = CallerFiles{}

// Files is where the hooks of a tenant learn of symbolic links: never from the daemon's own view of the files. Without a
// tenant it is nil, the host's own view.
func (t *Tenant) Files() kernel.FileSystem {
	if t == nil {
		return nil
	}
	return CallerFiles{}
}

// reading is the context of a decision: of a tenant's files this process reads nothing.
func (s *Server) reading(ctx context.Context) context.Context {
	if s.o.Tenant == nil {
		return ctx
	}
	return dispatch.WithAway(ctx, s.o.Tenant.Files())
}

// errUntold stands for what cannot be told.
var errUntold = errors.New("the caller does not tell about its files")

// Readlink implements kernel.FileSystem.
func (CallerFiles) Readlink(ctx context.Context, path string) (string, error) {
	l, ok := ctx.Value(lookerKey{}).(*looker)
	if !ok {
		return "", errUntold
	}
	found := l.look(ctx, path)
	switch found.State {
	case daemonapi.FoundLink:
		return found.Target, nil
	case daemonapi.FoundPlain:
		return "", hostcalls.ErrNotLink
	case daemonapi.FoundAbsent:
		return "", fs.ErrNotExist
	case daemonapi.FoundUnknown:
	}
	return "", errUntold
}

type lookerKey struct{}

// looker asks the caller of one question about its files, while that is decided. Hooks may ask at the same time. After
// one answer that is none, or does not come in time, nothing more is asked, and the connection is of no further use.
type looker struct {
	conn *frameConn
	in   *bufio.Reader
	log  *slog.Logger

	mu      sync.Mutex // a look is under way
	looks   int
	spent   time.Duration // on looks
	spentUp bool          // no looks are left
	torn    bool          // the caller has answered something else, or not
	over    bool          // the question is answered
	fault   error         // why the caller's files are not known any further
}

// unsound returns why the answers of the caller do not count any further, or nil, and how many looks there were.
func (l *looker) unsound() (looks int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looks, l.fault
}

func (l *looker) look(ctx context.Context, path string) daemonapi.Found {
	if !daemonapi.Lookable(path) {
		return daemonapi.Found{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.torn || l.over || l.spentUp || ctx.Err() != nil {
		return daemonapi.Found{}
	}
	if l.looks == maxLooks || l.spent >= looksTime {
		l.spentUp = true
		l.warn(ctx, errManyLooks)
		return daemonapi.Found{}
	}
	l.looks++
	from := time.Now()
	found, err := l.exchange(path)
	l.spent += time.Since(from)
	if err != nil {
		l.torn = true
		l.warn(ctx, err)
		return daemonapi.Found{}
	}
	return found
}

var errManyLooks = errors.New("the question needs more looks, or more time for them, than one has")

// warn notes why the caller's files are not known any further. It names no path: those are the caller's.
func (l *looker) warn(ctx context.Context, err error) {
	l.fault = err
	l.log.LogAttrs(ctx, slog.LevelWarn, "the caller's files cannot be told", slog.Int("looks", l.looks),
		slog.Any("error", err))
}

// exchange asks, and reads the answer. Preconditions: l.mu is held.
func (l *looker) exchange(path string) (daemonapi.Found, error) {
	_ = l.conn.SetDeadline(time.Now().Add(lookTime))
	q := daemonapi.AppendHeader(make([]byte, 0, daemonapi.FrameHeader+len(path)),
		daemonapi.Header{Kind: daemonapi.FrameLook, Length: len(path)})
	if _, err := l.conn.Write(append(q, path...)); err != nil {
		return daemonapi.Found{}, err
	}
	var header [daemonapi.FrameHeader]byte
	if _, err := io.ReadFull(l.in, header[:]); err != nil {
		return daemonapi.Found{}, err
	}
	h, err := daemonapi.DecodeFoundHeader(header)
	if err != nil {
		return daemonapi.Found{}, err
	}
	body, err := daemonapi.ReadBody(l.in, h.Length)
	if err != nil {
		return daemonapi.Found{}, err
	}
	return daemonapi.DecodeFound(body)
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
