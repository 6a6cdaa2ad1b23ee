package leases

import "time"

// Limits of a lease.
const (
	maxIDBytes      = 256                 // bytes of an id
	maxSegmentBytes = 64                  // bytes of one part of an id
	maxSegments     = 16                  // parts of an id
	MaxDepth        = 8                   // leases above one, at most
	MaxUses         = 1_000_000_000       // of one lease
	maxDigests      = 256                 // argument digests in one scope
	MaxLifetime     = 30 * 24 * time.Hour // of one lease, renewals included

	// DefaultMaxTTL is the longest life of a lease when its maker names no longer one.
	DefaultMaxTTL = time.Hour
	// defaultQuota is how many live leases one credential may hold.
	defaultQuota = 1000
	// Retention is how long stores keep a lease after its end.
	Retention = 7 * 24 * time.Hour
)
