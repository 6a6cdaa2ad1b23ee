// Package restrict digests the rows of a store by which a decision becomes stricter:
// latches, answered questions, leases, counters. Every batch of events records the
// digest of all of them in the log, and a store believes a row only if the newest digest
// covers it. The package decides what the digest is; it reads and writes no store.
//
// A Set is a hash tree with a fixed shape: sixteen tables, below each three levels with
// sixteen branches chosen by the SHA-256 of a row's key, and rows sorted by key at the
// end. Its root depends only on the rows, not on the order in which they came. Sets
// are immutable and share what they have in common, so that a change costs four hashes.
package restrict
