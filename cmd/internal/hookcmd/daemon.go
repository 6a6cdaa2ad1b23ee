package hookcmd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/ownfiles"
)

// local is the daemon of this user, which serves dir. It answers one question.
type local struct {
	dir    string
	conn   daemonapi.Conn
	framed bool // conn speaks frames, else HTTP
	opened time.Time
}

// dialLocal connects to the framed socket, or to that of HTTP where the daemon has no other. It has the
// errors of daemonapi.DialDir.
func dialLocal(ctx context.Context, dir string) (*local, error) {
	conn, err := daemonapi.DialFrames(ctx, dir)
	if errors.Is(err, daemonapi.ErrNoFrames) {
		return dialHTTP(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	return &local{dir, conn, true, time.Now()}, nil
}

func dialHTTP(ctx context.Context, dir string) (*local, error) {
	conn, err := daemonapi.DialDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &local{dir, conn, false, time.Now()}, nil
}

// freshTime bounds the age of a connection on which a question is sent: the daemon ends those
// that say nothing for some seconds.
const freshTime = time.Second

// Ask returns the answer without the verdicts. The error is of a class of package daemonapi,
// or the daemon's own refusal.
func (l *local) Ask(ctx context.Context, runtime string, payload []byte, o adapters.Options) (Answered, error) {
	fits := max(len(runtime), len(o.Event)) <= daemonapi.MaxName &&
		len(payload) <= daemonapi.MaxQuestion-2-2*daemonapi.MaxName
	if time.Since(l.opened) > freshTime || l.framed && !fits {
		dial := dialLocal
		if !fits {
			dial = dialHTTP
		}
		again, err := dial(ctx, l.dir)
		if err != nil {
			return Answered{}, err
		}
		l.Close()
		*l = *again
	}
	body, err := l.question(ctx, runtime, payload, o)
	if err != nil {
		return Answered{}, err
	}
	a, err := decodeAnswer(body)
	if err != nil {
		return Answered{}, fmt.Errorf("%w: its answer cannot be read: %w", daemonapi.ErrSick, err)
	}
	if !daemonapi.Answers(a.stdout, a.exit, a.stderr) {
		return Answered{}, fmt.Errorf("%w: its answer is none that a runtime reads", daemonapi.ErrSick)
	}
	return Answered{Answer: adapters.Answer{Stdout: []byte(*a.stdout), Stderr: a.stderr, Exit: *a.exit, Notes: a.notes}},
		nil
}

// question sends the payload, and returns the document with the answer.
func (l *local) question(ctx context.Context, runtime string, payload []byte, o adapters.Options) ([]byte, error) {
	if !l.framed {
		return l.post(ctx, runtime, payload, o)
	}
	h := daemonapi.Header{Kind: daemonapi.FrameEvent, Length: 2 + len(runtime) + len(o.Event) + len(payload)}
	if o.Headless {
		h.Flags |= daemonapi.FlagHeadless
	}
	q := daemonapi.AppendHeader(make([]byte, 0, daemonapi.FrameHeader+h.Length), h)
	q = daemonapi.AppendEvent(q, runtime, o.Event, payload)
	kind, body, err := ownfiles.Exchange(ctx, l.conn, q, l.dir)
	switch {
	case err != nil:
		return nil, err
	case kind == daemonapi.FrameProblem:
		return nil, problem(body, "it answered with a problem that cannot be read")
	case kind != daemonapi.FrameAnswer:
		return nil, fmt.Errorf("%w: it answered something that was not asked", daemonapi.ErrSick)
	}
	return body, nil
}

// post is question over HTTP.
func (l *local) post(ctx context.Context, runtime string, payload []byte, o adapters.Options) ([]byte, error) {
	q := daemonapi.Question{Path: "/adapters/" + url.PathEscape(runtime), Accept: daemonapi.AnswerType,
		Headless: o.Headless, Body: payload}
	if o.Event != "" {
		q.Path += "?event=" + url.QueryEscape(o.Event)
	}
	r, err := daemonapi.Post(ctx, l.conn, q)
	switch {
	case err != nil:
		return nil, err
	case r.Status != http200:
		if !r.JSON {
			r.Body = nil
		}
		return nil, problem(r.Body, fmt.Sprintf("it answered with status %d", r.Status))
	case !r.JSON:
		return nil, fmt.Errorf("%w: its answer is not JSON", daemonapi.ErrSick)
	}
	return r.Body, nil
}

// Close releases the connection.
func (l *local) Close() { _ = l.conn.Close() }

const http200 = 200

// problem reads a refusal, wire.Problem as far as it is passed on. An answer of another form means that the
// daemon is not well, as otherwise says.
func problem(body []byte, otherwise string) error {
	var p struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &p) != nil || p.Error.Code == "" {
		return fmt.Errorf("%w: %s", daemonapi.ErrSick, otherwise)
	}
	return errors.New(p.Error.Message)
}
