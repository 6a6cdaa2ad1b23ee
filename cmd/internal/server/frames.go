package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/phases"
)

// frameBuffer is how much is read from a connection at once, in bytes.
const frameBuffer = 4 << 10

// frameServer holds the connections of the framed socket. Safe for concurrent use.
type frameServer struct {
	path      string
	listeners []net.Listener // the first one is at path

	mu     sync.Mutex
	conns  map[*frameConn]bool
	ending bool
	idle   sync.Cond // of mu: a connection has ended, or has nothing to answer
}

// frameConn is one connection. Its goroutine alone reads and writes.
type frameConn struct {
	net.Conn
	of     *frameServer
	busy   bool    // of of.mu: a question is being read, decided or answered
	uid    int     // at the other end; -1: not known
	looker *looker // asks the caller about its files while a question is decided; nil: it cannot tell
}

// openFrames makes the framed socket beside the other one, under the same conditions.
func (s *Server) openFrames(dir string) error {
	path := filepath.Join(dir, daemonapi.FrameSocketName)
	l, err := listenUnix(path)
	if err != nil {
		return err
	}
	s.frames = &frameServer{path: path, listeners: []net.Listener{s.limit(l)}, conns: map[*frameConn]bool{}}
	if s.o.Tenant != nil {
		s.frames.listeners = append(s.frames.listeners, s.limitTenant(s.o.Tenant.Frames))
	}
	s.frames.idle.L = &s.frames.mu
	return nil
}

// serve accepts connections of a listener until it is closed, or fails.
func (f *frameServer) serve(l net.Listener, each func(*frameConn)) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		c := &frameConn{Conn: conn, of: f}
		f.mu.Lock()
		ending := f.ending
		f.conns[c] = true
		f.mu.Unlock()
		if ending {
			c.end()
			continue
		}
		go func() {
			defer c.end()
			each(c)
		}()
	}
}

// shutdown accepts nothing more, ends idle connections, and waits until the others have been answered.
// The error is that of ctx.
func (f *frameServer) shutdown(ctx context.Context) error {
	f.stopListening()
	stop := context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.idle.Broadcast()
	})
	defer stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	for c := range f.conns {
		if !c.busy {
			_ = c.Close() // its goroutine ends it
		}
	}
	for f.answering() && ctx.Err() == nil {
		f.idle.Wait()
	}
	if f.answering() {
		return ctx.Err()
	}
	return nil
}

func (f *frameServer) stopListening() {
	for _, l := range f.listeners {
		_ = l.Close()
	}
}

// answering reports whether a question is not answered yet. Preconditions: f.mu is held.
func (f *frameServer) answering() bool {
	for c := range f.conns {
		if c.busy {
			return true
		}
	}
	return false
}

// close ends all connections.
func (f *frameServer) close() {
	f.stopListening()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	for c := range f.conns {
		_ = c.Close()
	}
}

func (c *frameConn) end() {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.idle.Broadcast()
	c.of.mu.Unlock()
	_ = c.Close()
}

// socket is the connection itself, or nil.
func (c *frameConn) socket() *net.UnixConn {
	l, ok := c.Conn.(*limitedConn)
	if !ok {
		return nil
	}
	u, _ := l.inner().(*net.UnixConn)
	return u
}

// begin notes that a question comes. Without ok the daemon ends, and takes none.
func (c *frameConn) begin() (ok bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.of.ending {
		return false
	}
	c.busy = true
	connState(c.Conn, http.StateActive)
	return true
}

// answered notes that the question is answered. Without ok it was the last one.
func (c *frameConn) answered() (ok bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.busy = false
	connState(c.Conn, http.StateIdle)
	c.of.idle.Broadcast()
	return !c.of.ending
}

// framed answers the questions of one connection, one after the other, until the client closes it,
// says nothing for idleTime, or sends what is no question.
func (s *Server) framed(c *frameConn) {
	uid := -1
	if u := c.socket(); u != nil {
		if who, err := s.o.Peer(u); err == nil {
			uid = who
		}
	}
	c.uid = uid
	if !s.serves(uid) {
		s.log.LogAttrs(context.Background(), slog.LevelWarn, "connection refused", slog.Int("uid", uid))
		s.refuse(c, http.StatusForbidden, wire.ProblemBody{Code: wire.CodeForbidden,
			Message: "this socket serves one user, and the caller is another"})
		return
	}
	caller := peercred.Credential(uid)
	in := bufio.NewReaderSize(c, frameBuffer)
	for wait := headerTime; ; wait = idleTime {
		_ = c.SetReadDeadline(time.Now().Add(wait))
		if _, err := in.Peek(1); err != nil || !c.begin() {
			return
		}
		more := s.frame(c, in, uid, caller)
		if !c.answered() || !more {
			return
		}
	}
}

// frame reads one question and answers it. Without more the connection is of no further use.
func (s *Server) frame(c *frameConn, in *bufio.Reader, uid int, caller string) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log.LogAttrs(context.Background(), slog.LevelError, "internal error", slog.String("panic", fmt.Sprint(p)),
				slog.String("stack", string(debug.Stack())))
			s.refuse(c, http.StatusInternalServerError,
				wire.ProblemBody{Code: wire.CodeInternal, Message: "belay failed", Decision: phases.Block})
			more = false
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(s.o.Body)) // for the whole of it, however slowly it comes
	began := time.Now()
	var header [daemonapi.FrameHeader]byte
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return false // nothing was asked
	}
	h, err := daemonapi.DecodeQuestion(header)
	if err != nil {
		s.log.LogAttrs(context.Background(), slog.LevelWarn, "a frame was refused", slog.Any("error", err))
		status, code := http.StatusBadRequest, wire.CodeRequest
		if errors.Is(err, daemonapi.ErrFrameLength) {
			status, code = http.StatusRequestEntityTooLarge, wire.CodeTooLarge
		}
		s.refuse(c, status, wire.ProblemBody{Code: code, Message: err.Error(), Decision: phases.Block})
		return false
	}
	body, release, err := s.frameBody(c, in, uid, began, h)
	defer release()
	if err != nil && !errors.Is(err, errNoPlace) {
		s.log.LogAttrs(context.Background(), slog.LevelWarn, "a frame was cut off, or did not come in time",
			slog.Int("bytes", len(body)), slog.Int("announced", h.Length), slog.Any("error", err))
		err = errors.Join(errBody, err)
	}
	// What has begun is decided and recorded also when the caller has gone.
	ctx, cancel := context.WithTimeout(s.ending.over, decideTime)
	defer cancel()
	// Only the tenant's own connection tells of the tenant's files.
	if h.Flags&daemonapi.FlagFiles != 0 && s.isTenant(uid) && err == nil {
		c.looker = &looker{conn: c, in: in, contents: h.Flags&daemonapi.FlagContents != 0, left: forDeciding(),
			log: s.log}
		defer func() { c.looker.end(); c.looker = nil }()
		ctx = context.WithValue(ctx, lookerKey{}, c.looker)
	}
	if h.Kind == daemonapi.FrameEvent {
		return s.frameEvent(ctx, c, caller, h.Flags, body, err) && err == nil
	}
	return s.frameInvoke(ctx, c, caller, h.Flags, body, err) && err == nil
}

// frameBody reads the body of a question, as much of it as is looked at. A large one of a tenant waits for a place
// first, and the time that it has to come begins behind that. The error is errNoPlace when it found none in time.
func (s *Server) frameBody(c *frameConn, in io.Reader, uid int, began time.Time, h daemonapi.Header) (body []byte,
	release func(), err error) {
	if !s.isTenant(uid) || h.Length <= smallBytes {
		body, err = daemonapi.ReadBody(in, h.Length)
		return body, func() {}, err
	}
	n := h.Length
	if h.Kind == daemonapi.FrameInvoke {
		n = min(n, phases.MaxInputBytes+1)
	}
	ctx, cancel := context.WithDeadline(s.ending.over, began.Add(s.o.Body))
	defer cancel()
	if release, err = s.inflight.hold(ctx, int64(n)); err != nil {
		if s.ending.over.Err() == nil {
			err = errors.Join(errNoPlace, err)
		}
		return nil, release, err
	}
	_ = c.SetReadDeadline(time.Now().Add(s.o.Body))
	if body, err = daemonapi.ReadHeld(in, n); err == nil {
		_, err = io.CopyN(io.Discard, in, int64(h.Length-n))
	}
	return body, release, err
}

// frameInvoke answers a FrameInvoke; torn is why its body is not whole.
func (s *Server) frameInvoke(ctx context.Context, c *frameConn, caller string, flags daemonapi.FrameFlags,
	src []byte, torn error) bool {
	var unfit *phases.Fault
	if src = src[:min(len(src), phases.MaxInputBytes+1)]; torn != nil && len(src) <= phases.MaxInputBytes {
		unfit = notRead(torn)
	}
	out := s.judge(ctx, caller, src, unfit)
	s.untold(ctx, c, func() phases.Invocation { return invocationOf(&out, src) })
	switch {
	case out.status != http.StatusOK:
		return s.sendFrame(c, daemonapi.FrameProblem, wire.FramedProblem{Status: out.status, Problem: out.problem})
	case flags&daemonapi.FlagWhole != 0:
		return s.sendFrame(c, daemonapi.FrameVerdict, out.verdict)
	}
	return s.sendFrame(c, daemonapi.FrameVerdict, wire.SlimOf(&out.verdict))
}

// frameEvent answers a FrameEvent; torn is why its body is not whole.
func (s *Server) frameEvent(ctx context.Context, c *frameConn, caller string, flags daemonapi.FrameFlags,
	body []byte, torn error) bool {
	name, event, payload, err := daemonapi.DecodeEvent(body)
	if err != nil || len(event) > phases.MaxIDBytes {
		s.refuse(c, http.StatusBadRequest, wire.ProblemBody{Code: wire.CodeRequest,
			Message: "the question's names cannot be read", Decision: phases.Block})
		return false
	}
	adapter, ok := s.o.Runtimes[name]
	if !ok {
		return s.sendProblem(c, http.StatusNotFound, noRuntime())
	}
	opts := adapters.Options{User: s.o.User, Headless: flags&daemonapi.FlagHeadless != 0, Event: event,
		Cut: torn != nil}
	opts.MaxBytes = adapter.Table().Limit(opts)
	if len(payload) > opts.Limit() {
		if opts.Scan = adapters.ScanFor(adapter); opts.Scan != nil {
			_, _ = opts.Scan.Write(payload)
		}
		payload = payload[:opts.Limit()+1]
	}
	var unfit *phases.Fault
	if torn != nil {
		unfit = notRead(torn)
	}
	out := s.answer(ctx, caller, adapter, payload, opts, unfit)
	s.untold(ctx, c, func() phases.Invocation { return questionOf(&out, adapter, payload, opts) })
	if flags&daemonapi.FlagWhole != 0 {
		return s.sendFrame(c, daemonapi.FrameAnswer, wholeAnswer(out))
	}
	return s.sendFrame(c, daemonapi.FrameAnswer, slimAnswer{Stdout: string(out.Answer.Stdout), Stderr: out.Answer.Stderr,
		Exit: out.Answer.Exit, Notes: out.Answer.Notes})
}

// slimAnswer is client.Answer without its verdicts.
type slimAnswer struct {
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr,omitzero"`
	Exit   int      `json:"exit"`
	Notes  []string `json:"notes,omitzero"`
}

// refuse answers what is no question, as the last that is said on the connection. It reads on for a
// moment: a client that is still sending would not read the answer.
func (s *Server) refuse(c *frameConn, status int, p wire.ProblemBody) {
	if !s.sendProblem(c, status, p) {
		return
	}
	if u := c.socket(); u != nil {
		_ = u.CloseWrite()
	}
	_ = c.SetReadDeadline(time.Now().Add(min(refuseTime, s.o.Body)))
	_, _ = io.CopyN(io.Discard, c, daemonapi.MaxQuestion)
}

func (s *Server) sendProblem(c *frameConn, status int, p wire.ProblemBody) bool {
	if status < http.StatusInternalServerError {
		s.tries.frame(c.uid, &p)
	}
	return s.sendFrame(c, daemonapi.FrameProblem, wire.FramedProblem{Status: status, Problem: wire.Problem{Error: p}})
}

// sendFrame sends a document in one piece, and reports whether that went well.
func (s *Server) sendFrame(c *frameConn, kind daemonapi.FrameKind, v any) bool {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err == nil && len(body) > daemonapi.MaxAnswer {
		err = errors.New("it is too large for a frame")
	}
	if err != nil {
		s.log.LogAttrs(context.Background(), slog.LevelError, "an answer could not be written down",
			slog.Any("error", err))
		kind, body = daemonapi.FrameProblem,
			[]byte(`{"status":500,"error":{"code":"internal","message":"the answer could not be written down"}}`)
	}
	out := make([]byte, 0, daemonapi.FrameHeader+len(body))
	out = append(daemonapi.AppendHeader(out, daemonapi.Header{Kind: kind, Length: len(body)}), body...)
	sound := c.looker.end() // nothing is asked behind the answer
	_ = c.SetWriteDeadline(time.Now().Add(writeTime))
	_, werr := c.Write(out)
	return err == nil && werr == nil && sound
}
