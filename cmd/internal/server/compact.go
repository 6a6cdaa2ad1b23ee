package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// compact removes the contents of old events. What has begun is not stopped when the
// caller goes away.
func (s *Server) compact(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Before    time.Time      `json:"before"`
		Why       string         `json:"why"`
		DryRun    bool           `json:"dry_run"`
		Statement jsontext.Value `json:"statement"`
	}
	if !s.document(w, r, maxSmallBody+queue.MaxOrder, &in) {
		return
	}
	if in.Before.IsZero() == (in.Statement == nil) {
		s.problem(w, r, http.StatusBadRequest,
			wire.ProblemBody{Code: wire.CodeRequest,
				Message: `the body must be {"before": TIME} or {"statement": …}, with "why" and "dry_run" if wanted`})
		return
	}
	order, ok := s.order(w, r, in.Statement)
	if !ok {
		return
	}
	defer s.changed()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // the whole log is verified first
	out, err := statelog.Of(s.host.Log()).Compact(context.WithoutCancel(r.Context()),
		statelog.CompactOptions{Before: in.Before, Why: in.Why, By: "admin of the daemon", DryRun: in.DryRun, Order: order})
	switch {
	case err != nil && s.refuseOrder(w, r, err):
	case errors.Is(err, kernel.ErrTooYoung):
		s.problem(w, r, http.StatusConflict,
			wire.ProblemBody{Code: wire.CodeConflict, Message: phases.SafeText(err.Error(), 1<<10),
				Hint: "events.compaction.min_age in belay.yaml can only raise that age."})
	case errors.Is(err, statelog.ErrWrong), errors.Is(err, statelog.ErrSinkBehind), errors.Is(err, kernel.ErrConflict):
		s.problem(w, r, http.StatusConflict,
			wire.ProblemBody{Code: wire.CodeLog, Message: phases.SafeText(err.Error(), 4<<10),
				Hint: "`belay events verify` and `belay status` say more."})
	case err != nil:
		s.unavailable(w, r, err)
	default:
		if !in.DryRun {
			s.log.LogAttrs(r.Context(), slog.LevelInfo, "old events were compacted", slog.Int64("events", out.Events),
				slog.Int64("through", out.Through))
		}
		s.write(w, r, http.StatusOK, out)
	}
}
