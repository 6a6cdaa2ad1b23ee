package belay

import (
	"slices"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// retention is how the kernel later judges events that it refused; nil where it does not.
func (b *Belay) retention() *kernel.Retention {
	if !b.o.Retain || b.o.NoHooks || b.o.DryRun {
		return nil
	}
	return &kernel.Retention{Ready: b.recorder.Ready, Credential: ownCredential()}
}

// mayJudge reports whether an enforcing hook of belay.yaml may be asked in the phase, for
// a host that was opened without hooks. What cannot be told counts as one.
func (b *Belay) mayJudge(p phases.Phase) bool {
	if p == phases.Audit { // where nothing is decided
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.file
	if b.bad != nil || f == nil || len(b.adhoc)+len(f.Require)+len(f.RequireLease) > 0 ||
		!f.Scopes.Contains(phases.Scopes{}) {
		return true
	}
	for _, h := range b.examined() {
		if h.Mode != phases.Observe && (h.Problem != "" || len(h.Phases) == 0 || slices.Contains(h.Phases, p)) {
			return true
		}
	}
	return false
}
