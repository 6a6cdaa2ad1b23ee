package server

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// order reads the statement of a reviewer that a request brings, nil when it brings
// none, or answers why it cannot be read.
func (s *Server) order(w http.ResponseWriter, r *http.Request, src jsontext.Value) (*approvals.Order, bool) {
	if src == nil {
		return nil, true
	}
	o, err := queue.DecodeOrder(src)
	if err != nil {
		s.refuseOrder(w, r, err)
		return nil, false
	}
	return &o, true
}

// refuseOrder answers for a statement that does not count, and reports whether it did.
func (s *Server) refuseOrder(w http.ResponseWriter, r *http.Request, err error) bool {
	var o *queue.OrderError
	if !errors.As(err, &o) {
		return false
	}
	p, status := wire.ProblemBody{Code: wire.CodeConflict, Message: o.Error()}, http.StatusConflict
	switch {
	case errors.Is(o, approvals.ErrSignature):
		p.Code, status = wire.CodeSignature, http.StatusForbidden
		p.Hint = "`belay reviewer sign` writes a statement; where the key is here, the command itself asks for the passphrase."
	case errors.Is(o, approvals.ErrInvalid):
		p.Code, status = wire.CodeRequest, http.StatusBadRequest
	}
	s.problem(w, r, status, p)
	return true
}
