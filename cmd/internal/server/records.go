package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// unavailable answers for a store that does not.
func (s *Server) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // the caller has gone, and that alone ended the look
	}
	s.health.expire() // it may say that all is well
	s.log.LogAttrs(r.Context(), slog.LevelError, "the store does not answer", slog.Any("error", err))
	p := wire.ProblemBody{Code: wire.CodeStore, Message: "the store is not available"}
	if t, ok := errors.AsType[*kernel.Tampered](err); ok {
		p.Message = t.Text()
	}
	switch trouble := sink.TroubleOf(err); trouble {
	case sink.RolledBack:
		p.Message = kernel.ErrRollback.Error()
		p.Trouble, p.Hint = string(trouble), recoverHint
	case sink.Tampered:
		p.Trouble, p.Hint = string(trouble), recoverHint
	}
	s.problem(w, r, http.StatusServiceUnavailable, p)
}

const recoverHint = "Every action is blocked until `belay recover`; with --dry-run it says what is wrong."

// believeEvery is the time between comparisons of the database with its log
// while a caller waits.
const believeEvery = 2 * time.Second

// beliefs keeps those who wait from having the store compared more often than it takes.
type beliefs struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// believed is statelog.Storage.Believed, as it was found out lately.
func (s *Server) believed(ctx context.Context) error {
	b := &s.beliefs
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.at) > believeEvery {
		b.err, b.at = s.host.Log().Believed(context.WithoutCancel(ctx)), time.Now()
	}
	return b.err
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	f, age, err := s.look(r.Context())
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	out := f.status
	if s.onlyOwn(r) {
		out.Latches = f.own
	}
	if t := s.o.Tenant; t != nil && t.Problem != nil {
		if bad := t.Problem(); bad != "" {
			out.Problems = append(out.Problems, bad+" (the configuration before stays in use)")
		}
	}
	if t := s.o.Tenant; t != nil && t.LayerProblem != nil {
		if bad := t.LayerProblem(); bad != "" {
			out.Problems = append(out.Problems, bad)
		}
	}
	if bad := s.badConfig.Load(); bad != nil {
		out.Problems = append(out.Problems, *bad+" (the configuration before stays in use)")
	}
	g := s.gate
	out.Daemon = &wire.Daemon{Age: age.Milliseconds(), PID: os.Getpid(), Version: s.o.Version, Since: s.since.UTC(),
		Listen: s.Addr(), Plain: s.plain.Load(),
		Running: len(g.slots), Waiting: int(g.waiting.Load()), Decided: g.decided.Load(), Overloaded: g.refused.Load()}
	if t := s.o.Tenant; t != nil && t.Machine != nil {
		m := t.Machine()
		out.Daemon.Machine = &m
	}
	s.tellConnections(&out)
	s.write(w, r, http.StatusOK, out)
}

// Load says how many callers wait for their turn now, and how many were turned
// away since the start because too many did. For metrics; it never blocks.
func (s *Server) Load() (waiting, refused int64) {
	return s.gate.waiting.Load(), s.gate.refused.Load()
}

func (s *Server) hooks(w http.ResponseWriter, r *http.Request) {
	f, _, err := s.look(r.Context())
	if errors.Is(err, errNoStatus) {
		s.unavailable(w, r, err)
		return
	}
	s.write(w, r, http.StatusOK, map[string][]wire.Hook{"hooks": f.hooks})
}

func (s *Server) latches(w http.ResponseWriter, r *http.Request) {
	ls, err := s.host.Latches(r.Context())
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	list := kernel.LatchesOnWire(ls)
	if s.onlyOwn(r) {
		if list, err = ownLatches(r.Context(), s.host, list); err != nil {
			s.unavailable(w, r, err)
			return
		}
	}
	s.write(w, r, http.StatusOK, map[string][]wire.Latch{"latches": list})
}

const maxSmallBody = 4 << 10

func (s *Server) clearLatch(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Runtime *string `json:"runtime"`
		Session *string `json:"session"`

		Statement jsontext.Value `json:"statement"`
	}
	if !s.document(w, r, maxSmallBody+queue.MaxOrder, &body) {
		return
	}
	if body.Runtime == nil || body.Session == nil || len(*body.Runtime) > phases.MaxRuntimeBytes ||
		len(*body.Session) > phases.MaxIDBytes {
		s.problem(w, r, http.StatusBadRequest,
			wire.ProblemBody{Code: wire.CodeRequest,
				Message: `the body must be {"runtime": "…", "session": "…"}, with "" as session for a whole runtime`})
		return
	}
	key := wire.Session{Runtime: *body.Runtime, Session: *body.Session}
	order, ok := s.order(w, r, body.Statement)
	if !ok || s.lacksSignature(w, r, order != nil) {
		return
	}
	defer s.changed()
	err := s.mayClear(r, key)
	if err == nil {
		err = s.host.ClearLatch(r.Context(), key, order)
	}
	switch {
	case errors.Is(err, kernel.ErrConflict):
		s.problem(w, r, http.StatusNotFound, wire.ProblemBody{Code: wire.CodeNotFound, Message: "the session is not latched"})
	case s.refuseOrder(w, r, err):
	case err != nil:
		s.unavailable(w, r, err)
	default:
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "a latch was cleared", slog.String("runtime", key.Runtime),
			slog.String("session", key.Session))
		s.write(w, r, http.StatusOK, key)
	}
}

func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	defer s.changed()
	if err := s.Reload(context.WithoutCancel(r.Context())); err != nil {
		// The role may see the fault in its own file, as `belay status` prints
		// it.
		s.problem(w, r, http.StatusConflict,
			wire.ProblemBody{Code: wire.CodeConfig, Message: phases.SafeText(err.Error(), 4<<10),
				Hint: "The configuration before stays in use."})
		return
	}
	f, _, err := s.look(r.Context())
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.write(w, r, http.StatusOK, client.Reloaded{Revision: f.status.Revision})
}
