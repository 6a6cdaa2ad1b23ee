package belay

import (
	"context"

	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// Classes of errors about hooks that are proposed, for errors.Is.
var (
	// ErrRefused: the hook cannot be installed.
	ErrRefused = install.ErrRefused
	// ErrUnbound: the approval of the hook is logged, and the hook is not bound.
	ErrUnbound = install.ErrUnbound
)

// Propose puts a hook into the queue: its bytes are stored under their digest and
// nothing of it runs. A pending proposal of the same name by the same agent is
// superseded. With single_user.auto_accept a hook that can only restrict is
// installed at once, and changed says that belay.yaml was written. Errors are
// ErrRefused, approvals.ErrQuota, ErrNoConfig or kernel.ErrUnavailable.
func (b *Belay) Propose(ctx context.Context, p approvals.Proposal,
	credential string) (it approvals.Item, changed bool, err error) {
	b.mu.Lock()
	auto := b.file.SingleUser.AutoAccept
	b.mu.Unlock()
	return b.proposals.Propose(ctx, p, credential, auto)
}

// Decide takes a person's decision. A proposed hook that is approved is bound;
// changed says that belay.yaml was written and has to be taken into use. When that
// failed after the decision was logged, handing in the same decision again
// carries on from there. Errors are as of kernel.Kernel.DecideApproval, ErrRefused,
// ErrConfig, or ErrUnbound with what failed after the decision.
func (b *Belay) Decide(ctx context.Context, id string,
	d approvals.Decision) (it approvals.Item, changed bool, err error) {
	return b.proposals.Decide(ctx, id, d)
}
