package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/internal/tally"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// tries has requests that were refused unread become events of a user of system mode, in that user's own log. Without
// system mode it is nil, and the daemon's log alone has them: there the caller could remove the event, too.
type tries struct {
	*tally.Tally
	server *Server
	failed atomic.Bool
}

func newTries(s *Server) *tries {
	if s.o.Tenant == nil {
		return nil
	}
	t := &tries{server: s}
	t.Tally = tally.New(tally.Options{Write: t.write})
	return t
}

// refusedUnread reports whether a request with this answer was refused by its head alone.
func refusedUnread(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusUnsupportedMediaType:
		return true
	}
	return false
}

// answered counts the answer to a request, if it is a refusal of which there is no event. The kernel logs refused
// signatures itself.
func (t *tries) answered(r *http.Request, status int, p *wire.ProblemBody) {
	if t != nil && p.Code != wire.CodeSignature && refusedUnread(status) {
		t.add(r, p)
	}
}

func (t *tries) add(r *http.Request, p *wire.ProblemBody) {
	if t != nil {
		t.Add(tally.Key{UID: peerOf(r.Context()).uid, Code: p.Code, Where: r.Pattern}, p.Message)
	}
}

// frame counts what came on the framed socket, and was no question.
func (t *tries) frame(uid int, p *wire.ProblemBody) {
	if t != nil {
		t.Add(tally.Key{UID: uid, Code: p.Code, Where: "frame"}, p.Message)
	}
}

func (t *tries) write(ctx context.Context, c tally.Count) error {
	s := t.server
	a := kernel.Access{Decision: wire.AccessRefused, Reason: c.Text, Facts: wire.Access{Code: c.Code, UID: c.UID,
		Request: c.Where, Count: c.N, Since: c.Since.UTC(), Users: c.Users}}
	if c.UID == s.o.Tenant.UID {
		a.User = s.o.User
	}
	err := s.host.NoteAccess(ctx, a)
	if err == nil {
		t.failed.Store(false)
		s.changed()
	} else if !t.failed.Swap(true) {
		s.log.LogAttrs(ctx, slog.LevelError, "refused requests cannot be recorded now: they are counted until they can",
			slog.Any("error", err))
	}
	return err
}

// untold has the answers of a caller about its files that do not count become an event of the question that they were
// about, before that is answered. There is one at most, since nothing more is asked then.
func (s *Server) untold(ctx context.Context, c *frameConn, question func() phases.Invocation) {
	if c.looker == nil {
		return
	}
	looks, err := c.looker.unsound()
	if err == nil {
		return
	}
	of := question()
	a := kernel.Access{Decision: wire.AccessUntold, Reason: "the caller's files cannot be told: " + err.Error(),
		User: s.o.User, Invocation: of.ID, Runtime: of.Runtime, Session: of.Session,
		Facts: wire.Access{Code: "files", UID: c.uid, Count: int64(looks)}}
	if err := s.host.NoteAccess(ctx, a); err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "not recorded: the caller's files cannot be told", slog.Any("error", err))
		return
	}
	s.changed()
}

// invocationOf names a question, as its answer does.
func invocationOf(out *judged, src []byte) phases.Invocation {
	inv, err := phases.DecodeInvocation(src)
	if err != nil {
		inv = phases.Invocation{}
	}
	return phases.Invocation{ID: out.verdict.ID, Runtime: inv.Runtime, Session: inv.Session}
}

// questionOf names a question of a runtime, as its answer does.
func questionOf(
	out *dispatch.Answered,
	adapter adapters.Adapter,
	payload []byte,
	opts adapters.Options,
) phases.Invocation {
	of := phases.Invocation{Runtime: adapter.Runtime(), Session: adapter.Failure(payload, opts,
		phases.NewFault(phases.KindProtocol, "the caller's files cannot be told", nil)).Session}
	if len(out.Verdicts) > 0 {
		of.ID = out.Verdicts[0].ID
	}
	return of
}
