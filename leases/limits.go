package leases

import "time"

// Limits of a lease.
const (
	MaxIDBytes      = 256
	MaxSegmentBytes = 64
	MaxSegments     = 16
	MaxDepth        = 8             // leases above one, at most
	MaxUses         = 1_000_000_000 // of one lease
	MaxDigests      = 256           // argument digests in one scope
	MaxLifetime     = 30 * 24 * time.Hour

	// DefaultMaxTTL is the longest life of a lease when its maker names no longer one.
	DefaultMaxTTL = time.Hour
	// DefaultQuota is how many live leases one credential may hold.
	DefaultQuota = 1000
	// Keep is how long a lease that is over stays readable.
	Keep = 7 * 24 * time.Hour
)
