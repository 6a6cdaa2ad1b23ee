package queue

import (
	"time"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Kinds returns all kinds. The slice is the caller's.
func Kinds() []approvals.Kind {
	return []approvals.Kind{approvals.KindAsk, approvals.KindProposal, approvals.KindLease, approvals.KindTool}
}

// States returns all states. The slice is the caller's.
func States() []approvals.State {
	return []approvals.State{approvals.Pending, approvals.Approved, approvals.Denied, approvals.Expired,
		approvals.Superseded, approvals.Consumed}
}

// Defaults of Settings.
const (
	DefaultTimeout = 10 * time.Minute
	MaxTimeout     = 24 * time.Hour
	DefaultQuota   = 20
	MaxQuota       = 1000
)

// WithDefaults sets zero members to their defaults, and limits the others.
func WithDefaults(s approvals.Settings) approvals.Settings {
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	s.Timeout = min(s.Timeout, MaxTimeout)
	if s.Quota <= 0 {
		s.Quota = DefaultQuota
	}
	s.Quota = min(s.Quota, MaxQuota)
	return s
}

// Holds reports whether a denial still answers the same question at a time.
func Holds(it *approvals.Item, now leases.Instant) bool {
	return it.State == approvals.Denied && it.Decision != nil && it.Left(now) > 0
}

// Over reports whether nothing can follow from the item any more at a time.
func Over(it *approvals.Item, now leases.Instant) bool {
	st := it.At(now)
	return st.State != approvals.Pending && st.State != approvals.Approved && !Holds(&st, now)
}
