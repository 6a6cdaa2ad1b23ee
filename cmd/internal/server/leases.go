package server

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func (s *Server) leases(w http.ResponseWriter, r *http.Request) {
	sendList(s, w, r, "leases", leaseQuery(given(r)), s.leasesFor(r))
}

func leaseParams() []string {
	return []string{"prefix", "runtime", "session", "agent", "state", "after", "limit"}
}

func leaseQuery(p *params) leases.Query {
	return leases.Query{
		Prefix: p.text("prefix"),
		Holder: leases.Holder{Runtime: p.text("runtime"), Session: p.text("session"), Agent: p.text("agent")},
		State:  choice(p, "state", []leases.State{leases.Active, leases.Exhausted, leases.Expired, leases.Revoked}),
		After:  p.text("after"),
		Limit:  int(p.number("limit", 1, leases.MaxLimit)),
	}
}

const maxLeaseBody = 256 << 10

// person names who asks by hand, as far as the daemon has seen.
func (s *Server) person(r *http.Request) string {
	roles, _ := s.rolesOf(r)
	if slices.Contains(roles, client.RoleAdmin) {
		return "token " + string(client.RoleAdmin)
	}
	return "token " + string(client.RoleReview)
}

func (s *Server) mintLease(w http.ResponseWriter, r *http.Request) {
	var mint client.LeaseMint
	if !s.document(w, r, maxLeaseBody, &mint) {
		return
	}
	ctx, cancel := s.deciding(r)
	defer cancel()
	defer s.changed()
	var view *leases.View
	var err error
	switch {
	case mint.Approval != "" && mint.Holder == nil && mint.Request == (leases.Request{}):
		view, err = s.host.MintApproved(ctx, mint.Approval)
	case mint.Approval == "" && mint.Holder != nil:
		view, err = s.host.MintLease(ctx, mint.Request, *mint.Holder, s.person(r))
	default:
		err = &leases.Error{Class: leases.ErrInvalid, Text: "either approval alone, or the terms of a lease and its holder"}
	}
	var wait *kernel.LeasePending
	switch {
	case errors.As(err, &wait):
		s.write(w, r, http.StatusOK, client.LeaseMinted{Approval: wait.Approval.ID, Expires: wait.Approval.Expires})
	case err != nil:
		s.refuseLease(w, r, err)
	default:
		s.log.LogAttrs(ctx, slog.LevelInfo, "a lease was made by hand", slog.String("lease", view.ID))
		s.write(w, r, http.StatusOK, client.LeaseMinted{Lease: view})
	}
}

func (s *Server) revokeLease(w http.ResponseWriter, r *http.Request) {
	var revoke client.LeaseRevoke
	if !s.document(w, r, maxSmallBody, &revoke) {
		return
	}
	ctx, cancel := s.deciding(r)
	defer cancel()
	defer s.changed()
	err := error(&leases.Error{Class: leases.ErrInvalid, Text: "either id or prefix"})
	if (revoke.ID == "") != (revoke.Prefix == "") {
		err = s.host.RevokeLease(ctx, revoke.ID+revoke.Prefix, revoke.Prefix != "", s.person(r))
	}
	if err != nil {
		s.refuseLease(w, r, err)
		return
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "leases were taken back", slog.String("id", revoke.ID),
		slog.String("prefix", revoke.Prefix))
	s.write(w, r, http.StatusOK, revoke)
}

// checkLease answers a program that runs an action outside of belay. An unknown
// lease and another holder's lease get the same answer.
func (s *Server) checkLease(w http.ResponseWriter, r *http.Request) {
	var check client.LeaseCheck
	if !s.document(w, r, phases.MaxInputBytes, &check) {
		return
	}
	inv, err := phases.DecodeInvocation(check.Invocation)
	if err == nil {
		inv, err = phases.Normalize(inv)
	}
	if err != nil {
		s.problem(w, r, http.StatusBadRequest,
			wire.ProblemBody{Code: wire.CodeInvocation, Message: "invocation: " + phases.SafeLine(err.Error(), 512)})
		return
	}
	ctx, cancel := s.deciding(r)
	defer cancel()
	v, err := s.host.CheckLease(ctx, kernel.LeaseCheck{
		Holder: leases.HolderOf(inv, credential(r)), Token: check.Token, Capability: check.Capability, Action: &inv,
		Claim: check.Claim,
	})
	switch {
	case errors.Is(err, leases.ErrUnknown):
		if check.Token != "" {
			s.tries.add(r, &wire.ProblemBody{Code: wire.CodeNotFound,
				Message: "the token of a lease was shown that does not cover this: another's, used up, over or taken back"})
		}
		s.write(w, r, http.StatusOK, client.LeaseChecked{})
	case err != nil:
		s.refuseLease(w, r, err)
	default:
		if check.Claim {
			s.changed()
		}
		s.write(w, r, http.StatusOK, client.LeaseChecked{Active: true, Lease: v})
	}
}

func (s *Server) refuseLease(w http.ResponseWriter, r *http.Request, err error) {
	var e *leases.Error
	if !errors.As(err, &e) {
		s.refuseDecision(w, r, err) // of the queue, or of the store
		return
	}
	p, status := wire.ProblemBody{Code: wire.CodeRequest, Message: phases.SafeLine(e.Text, 1<<10)}, http.StatusBadRequest
	switch {
	case errors.Is(e, leases.ErrUnknown):
		p.Code, status = wire.CodeNotFound, http.StatusNotFound
	case !errors.Is(e, leases.ErrInvalid):
		p.Code, status = wire.CodeConflict, http.StatusConflict
	}
	s.problem(w, r, status, p)
}
