package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Kernels that share a store have one queue and one set of leases, and may have one set of latches. A tenant sees and
// decides what is the tenant's own all the same: the reviewers whom system.yaml names for one user are not those of
// another one.

// onlyOwn reports whether a caller sees only what is the tenant's own of a store that other kernels share.
func (s *Server) onlyOwn(r *http.Request) bool {
	roles, _ := s.rolesOf(r)
	return slices.Contains(roles, roleOwn) && !slices.Contains(roles, client.RoleAdmin) &&
		!slices.Contains(roles, client.RoleReview) && statelog.Of(s.host.Log()).Shared()
}

// mayKnow is approvals.ErrUnknown for an item that another kernel asked about, if the caller sees only the tenant's
// own.
func (s *Server) mayKnow(r *http.Request, item string) error {
	if !s.onlyOwn(r) {
		return nil
	}
	own, err := statelog.Of(s.host.Log()).Asked(r.Context(), item)
	if err == nil && !own {
		err = approvals.ErrUnknown
	}
	return err
}

// approvalsFor lists items for a caller. Those of others take no place in the list: it looks on until it is full.
func (s *Server) approvalsFor(r *http.Request) func(context.Context, approvals.Query) ([]approvals.Item, error) {
	if !s.onlyOwn(r) {
		return s.host.Approvals
	}
	return func(ctx context.Context, q approvals.Query) (own []approvals.Item, err error) {
		most := q.EffectiveLimit()
		for {
			all, err := s.host.Approvals(ctx, q)
			if err != nil || len(all) == 0 {
				return own, err
			}
			for i := range all {
				known, err := statelog.Of(s.host.Log()).Asked(ctx, all[i].ID)
				if err != nil {
					return nil, err
				}
				if !known {
					continue
				}
				if own = append(own, all[i]); len(own) == most {
					return own, nil
				}
			}
			q.Before, q.Limit = all[len(all)-1].ID, approvals.MaxLimit
		}
	}
}

// leasesFor lists leases for a caller: one that admits every credential is the tenant's, too. It looks on as
// approvalsFor does.
func (s *Server) leasesFor(r *http.Request) func(context.Context, leases.Query) ([]leases.View, error) {
	if !s.onlyOwn(r) {
		return s.host.Leases
	}
	return func(ctx context.Context, q leases.Query) (own []leases.View, err error) {
		most := q.EffectiveLimit()
		for {
			all, err := s.host.Leases(ctx, q)
			if err != nil || len(all) == 0 {
				return own, err
			}
			for i := range all {
				if by := all[i].Holder.Credential; by != "" && by != credential(r) {
					continue
				}
				if own = append(own, all[i]); len(own) == most {
					return own, nil
				}
			}
			q.After, q.Limit = all[len(all)-1].ID, leases.MaxLimit
		}
	}
}

// ownLatches returns the latches that a tenant sees: the own ones, and that others hold what names no session, or all
// of a runtime, since that holds the tenant's agents, too. On an error these are the ones that are known by then.
func ownLatches(ctx context.Context, h Host, all []wire.Latch) ([]wire.Latch, error) {
	out := []wire.Latch{}
	for i := range all {
		l := &all[i]
		own, err := statelog.Of(h.Log()).Latched(ctx, l.ID)
		switch {
		case err != nil:
			return out, err
		case own:
			out = append(out, *l)
		case l.Session == "":
			out = append(out, wire.Latch{Runtime: l.Runtime, Reason: latchedByAnother, Kind: l.Kind, Since: l.Since,
				Cause: l.Cause, Scope: l.Scope, Ends: l.Ends})
		}
	}
	return out, nil
}

const latchedByAnother = "another user of the shared store latched it: only root clears it"

// mayClear is kernel.ErrConflict, as for a latch that is not there, for one that another kernel made, if the caller
// sees only the tenant's own. An order says which latch it is for, so that it fits none that comes after this.
func (s *Server) mayClear(r *http.Request, key wire.Session) error {
	if !s.onlyOwn(r) {
		return nil
	}
	all, err := s.host.Latches(r.Context())
	for i := range all {
		if err != nil || all[i].Key() != key {
			continue
		}
		own, e := statelog.Of(s.host.Log()).Latched(r.Context(), all[i].ID)
		if err = e; err == nil && !own {
			err = kernel.ErrConflict
		}
	}
	return err
}
