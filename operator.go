package belay

import (
	"context"
	"os"
	"strconv"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/kernel"
)

// reviewersKnown refuses a person's verb while belay.yaml cannot be used and may
// register a reviewer. The error is ErrConfig.
func (b *Belay) reviewersKnown() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return config.ReviewersKnown(b.dir, b.bad)
}

// ownCredential stands for whoever runs as this process does: all that is known of
// a caller in the same process. An agent with a shell has it as well.
func ownCredential() string { return UserCredential(os.Getuid()) }

// UserCredential is the credential of a local user.
func UserCredential(uid int) string { return "uid " + strconv.Itoa(uid) }

// Approval returns an item of the queue as it stands now. Errors are
// kernel.ErrApprovalUnknown or kernel.ErrUnavailable.
func (b *Belay) Approval(ctx context.Context, id string) (kernel.Approval, error) {
	return b.kernel.Approval(ctx, id)
}

// Approvals returns items of the queue, newest first. The error is kernel.ErrUnavailable.
func (b *Belay) Approvals(ctx context.Context, q kernel.ApprovalQuery) ([]kernel.Approval, error) {
	return b.kernel.Approvals(ctx, q)
}

// ApprovalCounts counts what waits for a person, by kind; a kind without any is not
// in it. The error is kernel.ErrUnavailable.
func (b *Belay) ApprovalCounts(ctx context.Context) (map[string]int, error) {
	counts, err := b.kernel.ApprovalCounts(ctx)
	out := make(map[string]int, len(counts))
	for k, n := range counts {
		out[string(k)] = n
	}
	return out, err
}

// UnsoundApprovals is kernel.Kernel.UnsoundApprovals.
func (b *Belay) UnsoundApprovals(ctx context.Context) ([]string, error) {
	return b.kernel.UnsoundApprovals(ctx)
}

// SweepApprovals records which items have run out. The error is kernel.ErrUnavailable.
func (b *Belay) SweepApprovals(ctx context.Context) error { return b.kernel.SweepApprovals(ctx) }

// Protected reports whether deciding takes a reviewer's key, which an agent of the
// same user does not have.
func (b *Belay) Protected() bool { return b.kernel.Protected() }
