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

// approvalsFor lists items for a caller.
func (s *Server) approvalsFor(r *http.Request) func(context.Context, approvals.Query) ([]approvals.Item, error) {
	if !s.onlyOwn(r) {
		return s.host.Approvals
	}
	return func(ctx context.Context, q approvals.Query) (own []approvals.Item, err error) {
		all, err := s.host.Approvals(ctx, q)
		for i := range all {
			known, err := statelog.Of(s.host.Log()).Asked(ctx, all[i].ID)
			if err != nil {
				return nil, err
			}
			if known {
				own = append(own, all[i])
			}
		}
		return own, err
	}
}

// leasesFor lists leases for a caller: one that admits every credential is the tenant's, too.
func (s *Server) leasesFor(r *http.Request) func(context.Context, leases.Query) ([]leases.View, error) {
	if !s.onlyOwn(r) {
		return s.host.Leases
	}
	return func(ctx context.Context, q leases.Query) ([]leases.View, error) {
		all, err := s.host.Leases(ctx, q)
		return slices.DeleteFunc(all, func(v leases.View) bool {
			return v.Holder.Credential != "" && v.Holder.Credential != credential(r)
		}), err
	}
}
