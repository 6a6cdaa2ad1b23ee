package toolrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// Bounds of the daemon. The unit has the last one, too, for a daemon that does not hold itself to it.
const (
	perUser = 16 // servers of one user at once
	inTotal = 64
)

// Classes of errors of Start, for errors.Is. Their texts are shown to hooks.
var (
	// ErrAway: no runner answers, or what does cannot be believed.
	ErrAway = errors.New("MCP servers cannot be started on this machine at present: root finds the reason with " +
		"`belay system status`")
	// ErrBusy: as many servers run as may.
	ErrBusy = errors.New("as many MCP servers run as may")
	// ErrRefused: the runner did not start the server. The text says why.
	ErrRefused = errors.New("the server was not started")
)

// Runners starts servers by the runner of this machine. Safe for concurrent use.
type Runners struct {
	dial func(ctx context.Context) (daemonapi.Conn, error)

	mu      sync.Mutex
	running map[int]int // servers by user
	total   int
}

// NewRunners returns one for the socket at that path, without looking at it. Nothing is sent before the system has
// confirmed that root opened the socket, in a directory where root alone makes files.
func NewRunners(socket string) *Runners {
	return &Runners{running: map[int]int{}, dial: daemonapi.SocketAt(socket).Dial}
}

// startTime bounds how long a server may take to be started; what it says then is bounded elsewhere.
const startTime = 15 * time.Second

// For returns what has servers started for one user; see belay.Options.StartTool. Reading gives what the server
// writes, writing gives it input, and Close ends it and waits for that. Errors are of one of the classes
// above. The runner takes the command from root's file: what is given here only has to be the same.
func (r *Runners) For(uid int) func(ctx context.Context, server string, command, env []string, dir string,
	says io.Writer) (io.ReadWriteCloser, error) {
	return func(ctx context.Context, server string, command, env []string, dir string, says io.Writer) (
		io.ReadWriteCloser, error) {
		digest, err := digestOf(command, env, dir)
		if err != nil {
			return nil, fmt.Errorf("%w: its command is no text", ErrRefused)
		}
		return r.start(ctx, start{Server: server, Digest: digest, UID: uid}, says)
	}
}

func (r *Runners) start(ctx context.Context, s start, says io.Writer) (io.ReadWriteCloser, error) {
	if err := r.take(s.UID); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	conn, err := r.dial(ctx)
	if err != nil {
		r.give(s.UID)
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	err = begin(conn, s)
	if !stop() && err == nil {
		err = fmt.Errorf("%w: %w", ErrAway, ctx.Err())
	}
	if err != nil {
		_ = conn.Close()
		r.give(s.UID)
		return nil, err
	}
	out, into := io.Pipe()
	p := &program{conn: conn, out: out, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		defer r.give(s.UID)
		_ = into.CloseWithError(p.receive(into, says)) // it never fails
	}()
	return p, nil
}

// begin asks for the server, and waits until it runs.
func begin(conn daemonapi.Conn, s start) error {
	if _, err := conn.Write(encode(frameStart, s)); err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	k, body, err := readFrame(conn, make([]byte, maxData))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrAway, err)
	case k == frameRunning:
		return nil
	case k != frameEnd:
		return fmt.Errorf("%w: %w", ErrAway, errFrame)
	}
	var end ending
	if err := decode(body, &end); err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return fmt.Errorf("%w: %s", ErrRefused, phases.SafeLine(end.Refused, 512))
}

func (r *Runners) take(uid int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.running[uid] >= perUser:
		return fmt.Errorf("%w for one user: %d", ErrBusy, perUser)
	case r.total >= inTotal:
		return fmt.Errorf("%w on this machine: %d", ErrBusy, inTotal)
	}
	r.running[uid]++
	r.total++
	return nil
}

func (r *Runners) give(uid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total--
	if r.running[uid]--; r.running[uid] == 0 {
		delete(r.running, uid)
	}
}

// program is a server that runs elsewhere.
type program struct {
	conn  daemonapi.Conn
	out   *io.PipeReader
	ended chan struct{} // closed when nothing more comes

	write sync.Mutex
	once  sync.Once
}

// receive hands on what comes until the end, and returns why it ended; nil is the server's own end.
func (p *program) receive(out, says io.Writer) error {
	space := make([]byte, maxData)
	var closed error // what is still written is dropped: the server counts until it has ended
	for {
		k, body, err := readFrame(p.conn, space)
		if err != nil {
			return err
		}
		switch k {
		case frameOutput:
			if closed == nil {
				_, closed = out.Write(body)
			}
		case frameSays:
			_, _ = says.Write(append(body, '\n')) // a log
		case frameEnd:
			return nil
		default:
			return errFrame
		}
	}
}

// Read implements io.Reader.
func (p *program) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write implements io.Writer. It waits while the server does not read, until Close.
func (p *program) Write(b []byte) (n int, err error) {
	p.write.Lock()
	defer p.write.Unlock()
	frame := make([]byte, 0, frameHeader+min(len(b), maxData))
	for len(b) > 0 {
		part := b[:min(len(b), maxData)]
		if _, err := p.conn.Write(appendFrame(frame[:0], frameInput, part)); err != nil {
			return n, err
		}
		n += len(part)
		b = b[len(part):]
	}
	return n, nil
}

// endTime bounds how long a server has to end; the runner takes less.
const endTime = 5 * time.Second

// Close implements io.Closer. It returns nil.
func (p *program) Close() error {
	p.once.Do(func() {
		_ = p.out.Close() // what it still writes is dropped
		endInput(p.conn)
		select {
		case <-p.ended:
		case <-time.After(endTime):
		}
		_ = p.conn.Close()
	})
	return nil
}

// Ask asks the runner at a path what holds in its processes. It is for root and the daemon's user.
func Ask(ctx context.Context, socket string) (Report, error) {
	r := NewRunners(socket)
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	conn, err := r.dial(ctx)
	if err != nil {
		return Report{}, err
	}
	defer conn.Close()
	if at, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(at)
	}
	if _, err := conn.Write(appendFrame(nil, frameStatus, nil)); err != nil {
		return Report{}, err
	}
	k, body, err := readFrame(conn, make([]byte, maxData))
	if err != nil {
		return Report{}, err
	}
	var report Report
	if k != frameAnswer {
		var end ending
		if k == frameEnd && decode(body, &end) == nil && end.Refused != "" {
			return Report{}, errors.New(phases.SafeLine(end.Refused, 512))
		}
		return Report{}, errFrame
	}
	return report, decode(body, &report)
}
