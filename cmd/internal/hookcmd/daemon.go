package hookcmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/internal/daemonapi"
)

// local is the daemon of this user, which serves dir. It answers one question.
type local struct {
	dir    string
	conn   net.Conn
	opened time.Time
}

// dialLocal has the errors of daemonapi.DialDir.
func dialLocal(ctx context.Context, dir string) (*local, error) {
	conn, err := daemonapi.DialDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &local{dir, conn, time.Now()}, nil
}

// freshTime bounds the age of a connection on which a question is sent: the daemon ends those
// that say nothing for some seconds.
const freshTime = time.Second

// Ask returns the answer without the verdicts. The error is of a class of package daemonapi,
// or the daemon's own refusal.
func (l *local) Ask(ctx context.Context, runtime string, payload []byte, o adapters.Options) (Answered, error) {
	if time.Since(l.opened) > freshTime {
		again, err := dialLocal(ctx, l.dir)
		if err != nil {
			return Answered{}, err
		}
		l.Close()
		*l = *again
	}
	q := daemonapi.Question{Path: "/adapters/" + url.PathEscape(runtime), Accept: daemonapi.AnswerType,
		Headless: o.Headless, Body: payload}
	if o.Event != "" {
		q.Path += "?event=" + url.QueryEscape(o.Event)
	}
	r, err := daemonapi.Post(ctx, l.conn, q)
	switch {
	case err != nil:
		return Answered{}, err
	case r.Status != http200:
		return Answered{}, problem(r)
	case !r.JSON:
		return Answered{}, fmt.Errorf("%w: its answer is not JSON", daemonapi.ErrSick)
	}
	var a answer
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return Answered{}, fmt.Errorf("%w: its answer cannot be read: %w", daemonapi.ErrSick, err)
	}
	if !daemonapi.Answers(a.Stdout, a.Exit, a.Stderr) {
		return Answered{}, fmt.Errorf("%w: its answer is none that a runtime reads", daemonapi.ErrSick)
	}
	return Answered{Answer: adapters.Answer{Stdout: []byte(*a.Stdout), Stderr: a.Stderr, Exit: *a.Exit, Notes: a.Notes}},
		nil
}

// Close releases the connection.
func (l *local) Close() { _ = l.conn.Close() }

const http200 = 200

// answer is client.Answer as far as a hook command passes it on: the verdicts stay unread.
type answer struct {
	Stdout *string  `json:"stdout"`
	Stderr string   `json:"stderr"`
	Exit   *int     `json:"exit"`
	Notes  []string `json:"notes"`
}

// problem reads a refusal, wire.Problem as far as it is passed on; whatever is none is a daemon
// that is not well.
func problem(r daemonapi.Reply) error {
	var p struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if !r.JSON || json.Unmarshal(r.Body, &p) != nil || p.Error.Code == "" {
		return fmt.Errorf("%w: it answered with status %d", daemonapi.ErrSick, r.Status)
	}
	return errors.New(p.Error.Message)
}
