package belay

import (
	"context"

	"github.com/belay-hooks/belay/internal/revision"
	"github.com/belay-hooks/belay/kernel"
)

// revision names everything that an operator wrote and that decides: the text of
// belay.yaml and, after a +, the trust policy, where there is one and it is used.
func (b *Belay) revision() string {
	if b.o.Verifier == nil {
		if r := b.trust.Revision(); r != "" {
			return b.rev + "+" + r
		}
	}
	return b.rev
}

// announcer has the log say what the configuration in use changes. Preconditions: as
// of kernelConfig.
func (b *Belay) announcer() kernel.Announcer {
	if b.revisions == nil || b.bad != nil || b.o.InMemory || b.o.DryRun {
		return nil
	}
	var policy any
	if p := b.trust.InUse(); p != nil && b.o.Verifier == nil {
		policy = p
	}
	now, err := revision.Of(b.revision(), b.file, policy)
	if err != nil {
		return func(context.Context) (*kernel.Announcement, error) { return nil, err }
	}
	return b.revisions.Announce(now)
}
