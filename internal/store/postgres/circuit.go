package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// While the database is away, the writer alone waits for it. Callers whose requests are not begun are told at once, and
// so are those who come later: each of them would wait for the same. The writer goes on trying, and lets them in again.

// retryFirst and retryMost bound the pause between two tries to reach the database.
const (
	retryFirst = 20 * time.Millisecond
	retryMost  = time.Second
)

// answerTime is how long an answer takes at most, beside what it waits for other kernels.
const answerTime = time.Second

// A circuit says whether the database can be reached. The zero value says that it can. It is safe for concurrent use.
type circuit struct {
	mu   sync.Mutex // of changes
	last atomic.Pointer[reach]
}

// reach is what a circuit says until it says something else.
type reach struct {
	lasts context.Context // until the database cannot be reached
	end   context.CancelFunc
	why   error // set before lasts ends
}

func newReach() *reach {
	r := &reach{}
	r.lasts, r.end = context.WithCancel(context.Background())
	return r
}

func (c *circuit) now() *reach {
	r := c.last.Load()
	if r == nil {
		c.last.CompareAndSwap(nil, newReach())
		r = c.last.Load()
	}
	return r
}

// trouble returns why the database cannot be reached, or nil.
func (c *circuit) trouble() error {
	r := c.now()
	if r.lasts.Err() != nil {
		return r.why
	}
	return nil
}

// open says that the database cannot be reached.
func (c *circuit) open(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.now()
	if c.trouble() != nil {
		r = newReach()
		defer c.last.Store(r)
	}
	r.why = why
	r.end()
}

// shut says that it can be reached.
func (c *circuit) shut() {
	if c.trouble() == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.Store(newReach())
}

// reading returns a context that ends with ctx, and when the database cannot be reached: then its cause is a trouble. A
// database that refuses the writer may answer readers.
func (c *circuit) reading(ctx context.Context) (context.Context, context.CancelFunc) {
	r := c.now()
	ctx, cancel := context.WithCancelCause(ctx)
	end := func() {
		if refusal(r.why) == "" {
			cancel(trouble{r.why})
		}
	}
	if r.lasts.Err() != nil {
		end()
	}
	stop := context.AfterFunc(r.lasts, end)
	return ctx, func() { stop(); cancel(nil) }
}

// trouble is why reading has ended.
type trouble struct{ error }

func (t trouble) Unwrap() error { return t.error }

// troubled returns what explains an error under a context of reading.
func troubled(ctx context.Context, err error) error {
	if t := (trouble{}); errors.As(context.Cause(ctx), &t) {
		return t.error
	}
	return err
}

// Unreachable returns a channel that is closed when the database cannot be reached, also if that is so now.
func (s *Store) Unreachable() <-chan struct{} { return s.circuit.now().lasts.Done() }

// unreachable reports whether an error says that there was no answer, or none from a database that can be used now.
func unreachable(err error) bool {
	if code := refusal(err); code != "" {
		return awayCode(code)
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connecting) || errors.As(err, &network) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
}

// unanswered reports whether an error is one of a server that says nothing at all: to try again takes as long.
func unanswered(err error) bool {
	return pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded)
}

// failed opens the circuit, if an error leaves the writer without a connection because the database is away. A kernel
// whose log is elsewhere has a circuit of its own.
func (w *writer) failed(err error) {
	if w.conn != nil || w.store.o.Forwarding || !unreachable(err) {
		return
	}
	if w.lost != nil { // that is what to say until it is known that it is over
		err = w.lost
	}
	w.store.circuit.open(err)
}

// answers shuts the circuit, if there is a connection.
func (w *writer) answers() {
	if w.conn != nil && !w.conn.IsClosed() {
		w.store.circuit.shut()
	}
}

// retry returns when to try to reach the database again, and the pause after that; nil while it can be reached.
func (w *writer) retry(pause time.Duration) (<-chan time.Time, time.Duration) {
	if w.store.circuit.trouble() == nil {
		return nil, retryFirst
	}
	return time.After(pause), min(2*pause, retryMost)
}

// silent says that the server has not answered for a while.
func (w *writer) silent(after time.Duration) {
	if !w.store.o.Forwarding {
		w.store.circuit.open(fmt.Errorf("the server has not answered for %v", after))
	}
}
