package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Kernels that share a store have one queue and one set of leases. A tenant sees and decides what is the tenant's own
// all the same: the reviewers whom system.yaml names for one user are not those of another one.

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
