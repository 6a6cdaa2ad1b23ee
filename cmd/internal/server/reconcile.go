package server

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/internal/reconcile"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/transcripts"
	"github.com/belay-hooks/belay/phases"
)

// Bounds of the comparisons that the daemon makes by itself.
const (
	maxReconciles  = 64               // that wait; of more, the next start or end of the session has another chance
	reconcileDelay = 6 * time.Second  // from the end of a session until its log is complete
	reconcileTime  = 30 * time.Second // of one
	maxAskedLog    = 64 << 20         // bytes of a log that a caller tells while its question is open
)

// sessionLog is a log that a runtime has named at the start or the end of a session.
type sessionLog struct {
	runtime, session, log string
	ended                 bool
	due                   time.Time
}

// reconciler compares the logs of sessions that start or end, one after the other, behind the answers: a
// comparison that fails blocks nothing.
type reconciler struct {
	queue  chan sessionLog
	dir    func(runtime string) string
	asking sync.Mutex // a comparison through a caller is made: one at a time
}

func newReconciler(dir func(runtime string) string) *reconciler {
	return &reconciler{queue: make(chan sessionLog, maxReconciles), dir: dir}
}

// The names of the events at the start and the end of a session, in each runtime that names its log.
const (
	sessionStart = "SessionStart"
	sessionEnd   = "SessionEnd"
)

func startsOrEnds(event string) bool { return event == sessionStart || event == sessionEnd }

// heard looks whether the payload is the start or the end of a session that names its log. A tenant's log is compared
// now, while its question is open.
func (s *Server) heard(ctx context.Context, adapter adapters.Adapter, payload []byte, opts adapters.Options) {
	if opts.Event != "" && !startsOrEnds(opts.Event) || !bytes.Contains(payload, []byte(`"Session`)) {
		return // most events: nothing is read of them
	}
	var p struct {
		Event      string         `json:"hook_event_name"`
		Session    string         `json:"session_id"`
		Transcript string         `json:"transcript_path"`
		Rest       jsontext.Value `json:",inline"`
	}
	if s.logs == nil || s.logs.dir == nil && s.o.Tenant == nil || adapter.SessionMember() != "session_id" ||
		json.Unmarshal(payload, &p) != nil || p.Session == "" || p.Transcript == "" ||
		opts.Event != "" && opts.Event != p.Event {
		return
	}
	if !startsOrEnds(p.Event) {
		return
	}
	job := sessionLog{adapter.Runtime(), p.Session, p.Transcript, p.Event == sessionEnd, time.Now()}
	if s.o.Tenant != nil {
		s.compareAsked(ctx, job)
		return
	}
	if job.ended {
		job.due = job.due.Add(s.o.LogDelay)
	}
	select {
	case s.logs.queue <- job:
	default:
		s.log.LogAttrs(context.Background(), slog.LevelWarn, "a session's log is not compared: too many wait",
			slog.String("runtime", adapter.Runtime()))
	}
}

// reconcileLogs compares what waits until the daemon ends.
func (s *Server) reconcileLogs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case job := <-s.logs.queue:
			wait := time.NewTimer(time.Until(job.due))
			select {
			case <-ctx.Done():
				wait.Stop()
				return
			case <-wait.C:
			}
			s.reconcileLog(ctx, job, reconcile.Question{Runtime: job.runtime, Log: job.log, Session: job.session})
		}
	}
}

// compareAsked compares the log of a tenant's session through the caller whose question names it. The decision has been
// made by then, and its answer waits. What the caller does not tell at the end of a session is logged as a comparison
// that says nothing.
func (s *Server) compareAsked(ctx context.Context, job sessionLog) {
	l, _ := ctx.Value(lookerKey{}).(*looker)
	if l != nil && l.contents {
		if !s.logs.asking.TryLock() {
			return // of another question; the next start or end of the session has another chance
		}
		defer s.logs.asking.Unlock()
		l.again(forComparing())
	}
	s.reconcileLog(ctx, job, reconcile.Question{Runtime: job.runtime, Log: job.log, Session: job.session,
		Source: CallerFiles{}, Most: maxAskedLog})
}

// reconcileLog compares one log. That it cannot be read is logged as a comparison that says nothing.
func (s *Server) reconcileLog(ctx context.Context, job sessionLog, q reconcile.Question) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "logging a comparison failed", slog.Any("panic", p))
		}
	}()
	_, err := s.compareLog(ctx, q)
	none := errors.Is(err, fs.ErrNotExist) || errors.Is(err, filesource.ErrUntold)
	if err == nil || errors.Is(err, reconcile.ErrRuntime) || !job.ended && none || ctx.Err() != nil {
		return
	}
	unread := wire.Reconciliation{Runtime: job.runtime, Session: job.session, Log: job.log,
		Status: wire.ReconcileUnknown, Unknown: 1, Why: []string{"the log cannot be read: " + whyUnread(err)}}
	if err := s.host.Reconciled(ctx, &unread); err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a comparison could not be logged", slog.Any("error", err))
	}
	s.changed()
}

// whyUnread says why a log was not read, without quoting it or its name.
func whyUnread(err error) string {
	for _, known := range []error{files.ErrElsewhere, files.ErrOwner, files.ErrNotRegular, transcripts.ErrName,
		reconcile.ErrSession, fs.ErrNotExist, fs.ErrPermission, files.ErrTooLarge, filesource.ErrUntold} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "an error of the file system"
}

// compareLog compares a log and logs what came of it.
func (s *Server) compareLog(ctx context.Context, q reconcile.Question) (out []wire.Reconciliation, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "comparing a log failed", slog.Any("panic", p))
			out, err = nil, errors.New("belay failed")
		}
	}()
	q.Now = time.Now()
	if q.Source == nil {
		q.Dir = s.logs.dir(q.Runtime)
	} else if q.Dir = reconcile.DirectoryOf(q.Runtime, q.Log); q.Dir == "" && slices.Contains(reconcile.Runtimes(),
		q.Runtime) {
		return nil, transcripts.ErrName
	}
	if q.Dir == "" {
		return nil, reconcile.ErrRuntime
	}
	out, err = reconcile.Compare(ctx, hostEvents{s.host}, q)
	for i := range out {
		if err == nil {
			err = s.host.Reconciled(ctx, &out[i])
		}
	}
	s.changed()
	return out, err
}

// hostEvents are the events of the daemon's host.
type hostEvents struct{ Host }

// Compacted implements reconcile.Events.
func (h hostEvents) Compacted(ctx context.Context) (through, event int64, err error) {
	return statelog.Of(h.Log()).Compacted(ctx)
}

// reconcile answers POST /v1/events/reconcile.
func (s *Server) reconcile(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Runtime string `json:"runtime"`
		Log     string `json:"log"`
	}
	if !s.document(w, r, maxSmallBody, &body) {
		return
	}
	if s.logs == nil || s.logs.dir == nil {
		s.problem(w, r, http.StatusNotFound, wire.ProblemBody{Code: wire.CodeNotFound, Message: "logs are not read here"})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), reconcileTime)
	defer cancel()
	out, err := s.compareLog(ctx, reconcile.Question{Runtime: body.Runtime, Log: body.Log})
	var refused *files.Error
	switch {
	case errors.Is(err, reconcile.ErrRuntime), errors.Is(err, transcripts.ErrName), errors.As(err, &refused),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		s.problem(w, r, http.StatusBadRequest, wire.ProblemBody{Code: wire.CodeRequest,
			Message: phases.SafeLine(err.Error(), 512)})
	case err != nil:
		s.unavailable(w, r, err)
	default:
		s.write(w, r, http.StatusOK, wire.Reconciliations{Sessions: out})
	}
}
