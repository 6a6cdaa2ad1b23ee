package server

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
)

// maxRevision is the most bytes that the name of a revision has.
const maxRevision = 256

// acceptConfig records that a person has looked at the configuration in use.
func (s *Server) acceptConfig(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Revision  string         `json:"revision"`
		Statement jsontext.Value `json:"statement"`
	}
	if !s.document(w, r, maxSmallBody+queue.MaxOrder, &body) {
		return
	}
	if body.Revision == "" || len(body.Revision) > maxRevision {
		s.problem(w, r, http.StatusBadRequest, wire.ProblemBody{Code: wire.CodeRequest, Message: "it names no revision"})
		return
	}
	order, ok := s.order(w, r, body.Statement)
	if !ok {
		return
	}
	defer s.changed()
	switch err := s.host.AcceptConfig(r.Context(), body.Revision, order); {
	case errors.Is(err, kernel.ErrConflict):
		s.problem(w, r, http.StatusConflict, wire.ProblemBody{Code: wire.CodeConflict, Message: "another revision is in use"})
	case s.refuseOrder(w, r, err):
	case err != nil:
		s.unavailable(w, r, err)
	default:
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "the configuration was accepted", slog.String("revision", body.Revision))
		s.write(w, r, http.StatusOK, map[string]string{"revision": body.Revision})
	}
}
