package belay

import (
	"context"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
)

// Leases returns leases by id, as they stand now. The error is kernel.ErrUnavailable.
func (b *Belay) Leases(ctx context.Context, q kernel.LeaseQuery) ([]kernel.LeaseView, error) {
	return b.kernel.Leases(ctx, q)
}

// Lease returns one lease. Errors are kernel.ErrLeaseUnknown or kernel.ErrUnavailable.
func (b *Belay) Lease(ctx context.Context, id string) (*kernel.LeaseView, error) {
	return b.kernel.Lease(ctx, id)
}

// MintLease makes a lease in a person's name; "" means whoever runs as this process
// does. The answer has the token, which is shown nowhere else. Errors are of package
// leases' classes, or kernel.ErrUnavailable.
func (b *Belay) MintLease(ctx context.Context, r leases.Request, h kernel.LeaseHolder, person string) (*kernel.LeaseView, error) {
	if person == "" {
		person = ownCredential()
	}
	return b.kernel.MintLease(ctx, r, h, person)
}

// MintApproved makes the lease that a reviewer has approved; see kernel.Kernel.MintApproved.
func (b *Belay) MintApproved(ctx context.Context, id string) (*kernel.LeaseView, error) {
	return b.kernel.MintApproved(ctx, id)
}

// RevokeLease takes a lease back, with everything below it, or with prefix everything
// at or below an id. Errors are as of MintLease.
func (b *Belay) RevokeLease(ctx context.Context, id string, prefix bool, person string) error {
	if person == "" {
		person = ownCredential()
	}
	return b.kernel.RevokeLease(ctx, id, prefix, person)
}

// CheckLease says whether a lease covers an action; see kernel.Kernel.CheckLease.
func (b *Belay) CheckLease(ctx context.Context, q kernel.LeaseCheck) (*kernel.LeaseView, error) {
	if q.Holder.Credential == "" {
		q.Holder.Credential = ownCredential()
	}
	return b.kernel.CheckLease(ctx, q)
}
