package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/toolpins"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// credential is what the daemon has seen of a caller for itself.
func credential(r *http.Request) string {
	if p := peerOf(r.Context()); p.unix {
		return peercred.Credential(p.uid)
	}
	return "token " + string(client.RoleInvoke)
}

// credited is the host on behalf of a caller: the caller's items are its own.
type credited struct {
	dispatch.Host
	credential string
}

func (c credited) InvokeWith(ctx context.Context, inv phases.Invocation,
	o kernel.InvokeOptions) (phases.Verdict, error) {
	o.Credential = c.credential
	return c.Host.InvokeWith(ctx, inv, o)
}

func (s *Server) approvals(w http.ResponseWriter, r *http.Request) {
	sendList(s, w, r, "approvals", approvalQuery(given(r)), s.approvalsFor(r))
}

func approvalParams() []string { return []string{"kind", "state", "before", "limit"} }

func approvalQuery(p *params) approvals.Query {
	return approvals.Query{
		Kind:   choice(p, "kind", queue.Kinds()),
		State:  choice(p, "state", queue.States()),
		Before: p.text("before"),
		Limit:  int(p.number("limit", 1, approvals.MaxLimit)),
	}
}

// approval answers with one item, at once or when it is decided. Agents see their
// own only, and of those what they need: another's is as unknown as none.
func (s *Server) approval(w http.ResponseWriter, r *http.Request) {
	p := given(r)
	wait := p.duration("wait", daemonapi.MaxWait)
	if p.err != nil {
		s.invalidRequest(w, r, p.err)
		return
	}
	roles, _ := s.rolesOf(r)
	all := slices.ContainsFunc(roles, func(r client.Role) bool {
		return r == client.RoleReview || r == client.RoleAdmin || r == roleOwn
	})
	look := func() (approvals.Item, error) {
		if wait > 0 {
			if err := s.believed(r.Context()); err != nil {
				return approvals.Item{}, err
			}
		}
		it, err := s.host.Approval(r.Context(), r.PathValue("id"))
		if err == nil {
			err = s.mayKnow(r, it.ID)
		}
		switch {
		case err != nil:
			return it, err
		case all:
			return it, nil
		case it.By.Credential != credential(r):
			return it, approvals.ErrUnknown
		}
		return toAgent(&it), nil
	}
	item, err := look()
	if err == nil && wait > 0 && item.State == approvals.Pending {
		if s.streams.Add(1) > int64(s.o.Streams) {
			s.streams.Add(-1)
			w.Header().Set("Retry-After", "1")
			s.problem(w, r, http.StatusServiceUnavailable,
				wire.ProblemBody{Code: wire.CodeOverloaded, Message: "too many are waiting for a decision"})
			return
		}
		errandOf(r.Context()).leave()
		item, err = s.await(r.Context(), look, wait)
		s.streams.Add(-1)
	}
	switch {
	case errors.Is(err, approvals.ErrUnknown):
		s.problem(w, r, http.StatusNotFound, wire.ProblemBody{Code: wire.CodeNotFound, Message: err.Error()})
	case errors.Is(err, approvals.ErrUnsound):
		s.problem(w, r, http.StatusConflict, unsoundProblem(err))
	case err != nil:
		s.unavailable(w, r, err)
	default:
		s.write(w, r, http.StatusOK, item)
	}
}

// changing is a host whose store other kernels share. They do not tell this daemon what they change.
type changing interface{ Changed() <-chan struct{} }

// awaying is a host that knows when its store cannot be reached.
type awaying interface{ StoreAway() <-chan struct{} }

// elsewhere returns a channel that is closed when another kernel may have changed something; nil where there is none.
func (s *Server) elsewhere() <-chan struct{} {
	if h, ok := s.host.(changing); ok {
		return h.Changed()
	}
	return nil
}

// await looks again whenever something happens, until the item is decided, the
// time is over, or the daemon stops: the caller then asks again.
func (s *Server) await(ctx context.Context, look func() (approvals.Item, error),
	wait time.Duration) (approvals.Item, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	poll := time.NewTicker(streamPoll)
	defer poll.Stop()
	for {
		woken, elsewhere := s.notifications.wait(), s.elsewhere()
		it, err := look()
		if err != nil || it.State != approvals.Pending {
			return it, err
		}
		select {
		case <-woken:
		case <-elsewhere:
		case <-poll.C:
		case <-over.C:
			return it, nil
		case <-s.notifications.done():
			return it, nil
		case <-ctx.Done():
			return it, nil
		}
	}
}

const maxDecision = 16 << 10

// decide takes a decision that a reviewer has signed. The role alone decides
// nothing: an agent may have found the token.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	var decision approvals.Decision
	if !s.document(w, r, maxDecision, &decision) {
		return
	}
	ctx, cancel := s.deciding(r)
	defer cancel()
	defer s.changed()
	if err := s.mayKnow(r, r.PathValue("id")); err != nil {
		s.refuseDecision(w, r, err)
		return
	}
	it, changed, err := s.host.Decide(ctx, r.PathValue("id"), decision)
	if changed {
		err = errors.Join(err, s.Reload(ctx))
	}
	if err != nil {
		s.refuseDecision(w, r, err)
		return
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "an approval was decided", slog.String("approval", it.ID),
		slog.String("verdict", string(decision.Verdict)), slog.String("by", decision.By))
	s.write(w, r, http.StatusOK, it)
}

func (s *Server) refuseDecision(w http.ResponseWriter, r *http.Request, err error) {
	body, status := wire.ProblemBody{Code: wire.CodeConflict, Message: phases.SafeText(err.Error(), 1<<10)},
		http.StatusConflict
	switch {
	case errors.Is(err, install.ErrUnbound), errors.Is(err, toolpins.ErrPending):
		body.Code = wire.CodeConfig
	case errors.Is(err, approvals.ErrUnsound):
		body = unsoundProblem(err)
	case errors.Is(err, approvals.ErrUnknown):
		body.Code, status = wire.CodeNotFound, http.StatusNotFound
	case errors.Is(err, approvals.ErrSignature):
		body.Code, status = wire.CodeSignature, http.StatusForbidden
	case errors.Is(err, approvals.ErrInvalid):
		body.Code, status = wire.CodeRequest, http.StatusBadRequest
	case errors.Is(err, approvals.ErrDecided), errors.Is(err, approvals.ErrExpired),
		errors.Is(err, approvals.ErrContent), errors.Is(err, approvals.ErrHidden):
	case errors.Is(err, install.ErrRefused), errors.Is(err, belay.ErrConfig), errors.Is(err, belay.ErrNoConfig):
		body.Code = wire.CodeConfig
	default:
		s.unavailable(w, r, err)
		return
	}
	s.problem(w, r, status, body)
}

// unsoundProblem says that an item differs from its question, and quotes
// nothing of it.
func unsoundProblem(err error) wire.ProblemBody {
	p := wire.ProblemBody{Code: wire.CodeConflict, Message: approvals.ErrUnsound.Error(),
		Hint: "It is neither shown nor decided. `belay events query --type approval --decision unsound` says why."}
	if f := phases.FaultOf(err); f != nil {
		p.Message = f.Text
	}
	return p
}

// toAgent is an agent's view of its own item.
func toAgent(it *approvals.Item) approvals.Item {
	return approvals.Item{ID: it.ID, Kind: it.Kind, State: it.State, Key: it.Key, By: it.By, Created: it.Created,
		Expires: it.Expires, Decision: it.Decision, Closed: it.Closed}
}

// propose takes a hook into the queue. An agent may do that: nothing of it runs.
func (s *Server) propose(w http.ResponseWriter, r *http.Request) {
	src, err := s.readBody(w, r, queue.MaxProposalBody, io.Discard)
	if err != nil || len(src) > queue.MaxProposalBody {
		s.problem(w, r, http.StatusRequestEntityTooLarge,
			wire.ProblemBody{Code: wire.CodeTooLarge, Message: "the proposal is too large, or did not come"})
		return
	}
	ctx, cancel := s.deciding(r)
	defer cancel()
	defer s.changed()
	leave, no := s.gate.enter(ctx, len(src))
	if no != nil {
		p := wire.ProblemBody{Code: wire.CodeStore, Message: no.Text}
		if errors.Is(no, kernel.ErrOverloaded) {
			w.Header().Set("Retry-After", "1")
			p = wire.ProblemBody{Code: wire.CodeOverloaded, Message: "too many are waiting"}
		}
		s.problem(w, r, http.StatusServiceUnavailable, p)
		return
	}
	var item approvals.Item
	inTurn(leave, func() {
		item, err = s.enqueue(ctx, r, src)
	})
	var malformed *malformedProposal
	switch {
	case errors.As(err, &malformed):
		s.problem(w, r, http.StatusBadRequest,
			wire.ProblemBody{Code: wire.CodeRequest, Message: phases.SafeText(err.Error(), 1<<10)})
	case errors.Is(err, errProposedByAnother):
		s.problem(w, r, http.StatusConflict,
			wire.ProblemBody{Code: wire.CodeConflict, Message: err.Error(), Hint: "Their reviewer decides about it."})
	case errors.Is(err, approvals.ErrQuota):
		s.problem(w, r, http.StatusTooManyRequests,
			wire.ProblemBody{Code: wire.CodeQuota, Message: err.Error(),
				Hint: "Wait until a person has decided about some of them."})
	case errors.Is(err, install.ErrRefused), errors.Is(err, belay.ErrConfig), errors.Is(err, belay.ErrNoConfig):
		s.problem(w, r, http.StatusBadRequest,
			wire.ProblemBody{Code: wire.CodeRequest, Message: phases.SafeText(err.Error(), 4<<10)})
	case err != nil:
		s.unavailable(w, r, err)
	default:
		s.log.LogAttrs(ctx, slog.LevelInfo, "a hook was proposed", slog.String("approval", item.ID))
		s.write(w, r, http.StatusOK, toAgent(&item))
	}
}

// errProposedByAnother says nothing of the item: it is another user's, with their session, and their reviewer's reason.
var errProposedByAnother = errors.New("another user of the shared store has proposed the same")

// malformedProposal is an error about what the caller sent.
type malformedProposal struct{ error }

// enqueue is all the work of a proposal. It runs in a turn of the caller's user: each part can take long.
func (s *Server) enqueue(ctx context.Context, r *http.Request, src []byte) (approvals.Item, error) {
	proposal, err := queue.DecodeProposal(src)
	if err != nil {
		return approvals.Item{}, &malformedProposal{err}
	}
	item, changed, err := s.host.Propose(ctx, proposal, credential(r))
	if changed {
		err = errors.Join(err, s.Reload(ctx))
	}
	if err == nil {
		err = s.mayKnow(r, item.ID)
		if errors.Is(err, approvals.ErrUnknown) {
			err = errProposedByAnother
		}
	}
	return item, err
}
