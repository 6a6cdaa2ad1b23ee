package leases

import (
	"slices"

	"github.com/belay-hooks/belay/phases"
)

// The names below are for the tests of this package, which are written as its users see it.
const (
	MaxSegments  = maxSegments
	MaxDigests   = maxDigests
	DefaultQuota = defaultQuota
	TokenPrefix  = tokenPrefix
)

// Segment is segment.
func Segment(name string) string { return segment(name) }

// Begun is begun.
func (l *Lease) Begun(at Instant) bool { return l.begun(at) }

// Over is ended.
func (l *Lease) Over(at Instant) bool { return l.ended(at) }

// ContainedIn is containedIn.
func (l *Lease) ContainedIn(parent *Lease) string { return l.containedIn(parent) }

// Equal reports whether both cover the same.
func (s Scope) Equal(o Scope) bool {
	return s.Paths.Equal(phases.ScopePath, o.Paths) && s.Hosts.Equal(phases.ScopeNet, o.Hosts) &&
		s.Tools.Equal(phases.ScopeTool, o.Tools) && slices.Equal(s.Args.normalize(), o.Args.normalize())
}
