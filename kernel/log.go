package kernel

import (
	"context"
	"crypto/sha256"
	"errors"
)

// ErrDamaged is, beside ErrUnavailable, the class of errors of a stored tree that
// does not even look like one.
var ErrDamaged = errors.New("the stored tree is damaged")

// Log shows the events of a store as an append-only Merkle log (RFC 6962 hashes,
// numbered as in golang.org/x/mod/sumdb/tlog). Event number n is leaf n-1, and the
// leaf is the event exactly as it is stored. The tree keeps the hashes of events whose
// contents were removed. It grows in the transaction
// that stores the event. Every error is ErrUnavailable for errors.Is.
type Log interface {
	// LogSize returns how many leaves the tree has.
	LogSize(ctx context.Context) (int64, error)

	// LogLeaves returns stored leaves with numbers larger than after, at most limit of them, in
	// order of their numbers. It judges nothing: leaves that have no place in the tree are among
	// them.
	LogLeaves(ctx context.Context, after int64, limit int) ([]LogLeaf, error)

	// LogHashes returns stored hashes of the tree by tlog index. One that is
	// missing is an error.
	LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error)

	// AddCheckpoint keeps a signed note about the first size leaves.
	AddCheckpoint(ctx context.Context, size int64, note []byte) error

	// Checkpoints returns the notes that AddCheckpoint was given, oldest first.
	Checkpoints(ctx context.Context) ([][]byte, error)

	// DropCheckpoints removes these notes.
	DropCheckpoints(ctx context.Context, notes [][]byte) error

	// LogCompacted returns how far the contents of events were compacted, by Batch.Compact.
	LogCompacted(ctx context.Context) (Compacted, error)

	// Restrictions compares the rows that restrict with the newest event's record of them. Rows
	// that differ are in the result and cause no error.
	Restrictions(ctx context.Context) (Restrictions, error)

	// LogRemove removes the contents of the oldest events that were compacted, at most
	// limit of them in one transaction, and returns how many are left to be removed. A store that
	// keeps events in partitions may remove a whole one at once. Their hashes stay.
	LogRemove(ctx context.Context, limit int) (left int64, err error)
}

// Compacted says which events were compacted. The zero value means none.
type Compacted struct {
	Through int64 // events 1 to Through
	Event   int64 // the number of the event that announced it
	Left    int64 // how many of them are not removed yet
}

// Restrictions says whether the rows that restrict are those that the log records.
//
// A store digests the rows of each of up to sixteen tables in a way of its own, so that each
// change of a row changes the digest of its table. Rows that restrict are all that a Batch
// changes beside events: runs, state of hooks and its last version, latches, approvals,
// leases, the clock of leases, and compaction.
type Restrictions struct {
	Seq      int64     // the newest event; 0: there is none
	Since    int64     // the first event that records them, as the store says; 0: none does yet
	Recorded string    // what the newest event records, as phases.Event.Restrictions; "" if it records nothing
	Found    string    // of the rows as they are: sha256:HEX of a byte 3 and Tables
	Tables   []byte    // sixteen SHA-256 digests, 512 bytes; a table that the store does not have is zeros
	Latches  []Latch   // as they are, oldest first
	Tampered *Tampered // how they differ; nil: they do not, or nothing is recorded yet

	// what the newest event of any kernel records of the rows that kernels share, as phases.Event.Shared; "" where these
	// are in the store of the log, or cannot be asked for now
	Shared string
}

// LogLeaf is an event as it is stored.
type LogLeaf struct {
	Seq  int64
	Body []byte

	// Copies says that what the store keeps beside the body, to find events by,
	// is what the body says.
	Copies bool
}

// leafHash is the hash of a leaf of the log (RFC 6962).
func leafHash(body []byte) [32]byte {
	return sha256.Sum256(append([]byte{0}, body...))
}

// leafIndex is the index under which Log.LogHashes has the hash of leaf n, counted from
// 0: tlog.StoredHashIndex(0, n).
func leafIndex(n int64) (index int64) {
	for ; n > 0; n >>= 1 {
		index += n
	}
	return index
}
