package leases

import "time"

// Limits of a lease.
const (
	MaxIDBytes      = 256                 // bytes of an id
	MaxSegmentBytes = 64                  // bytes of one part of an id
	MaxSegments     = 16                  // parts of an id
	MaxDepth        = 8                   // leases above one, at most
	MaxUses         = 1_000_000_000       // of one lease
	MaxDigests      = 256                 // argument digests in one scope
	MaxLifetime     = 30 * 24 * time.Hour // of one lease, renewals included

	// DefaultMaxTTL is the longest life of a lease when its maker names no longer one.
	DefaultMaxTTL = time.Hour
	// DefaultQuota is how many live leases one credential may hold.
	DefaultQuota = 1000
	// Keep is how long a lease that is over stays readable.
	Keep = 7 * 24 * time.Hour
)
