package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// MetadataTTL is how long the metadata of a run outlives its last use.
const MetadataTTL = 24 * time.Hour

// Classes of store errors, for errors.Is.
var (
	// ErrConflict: something that the batch was computed from has changed since
	// it was read. Nothing was written. The caller may run the invocation again.
	ErrConflict = errors.New("the state it was computed from has changed")

	// ErrUnavailable: the store cannot read or write now. Nothing of a batch
	// that was refused with it may be treated as recorded.
	ErrUnavailable = errors.New("the store is not available")

	// ErrRollback, beside ErrUnavailable: the store is older than the last commit that it
	// acknowledged, as a mark outside of it says. Nothing is written until a person has said that
	// the store may go on from there.
	ErrRollback = errors.New("the store went back behind its high-water mark")
)

// Store holds everything that outlives an invocation: events, metadata of runs, state of
// hooks, latches. Implementations are safe for concurrent use, and several
// processes may share one where the implementation says so.
//
// Every error is ErrConflict (Commit only) or ErrUnavailable for errors.Is; any
// other error is treated as ErrUnavailable.
//
// A store whose events do not outlive the process says so by a method Durable() bool that
// returns false; package belay takes such a store only in memory (Options.InMemory).
//
// Package kernel/storetest is the contract as a suite: each store passes it.
type Store interface {
	// RunState returns the state that is carried along the run. Contents that were last
	// used more than MetadataTTL before now, a Batch.Age, come back empty, with their version.
	RunState(ctx context.Context, key phases.RunKey, now time.Time) (RunState, error)

	// RunsOf returns the runs of a session whose names begin with the prefix, ordered by name, with
	// metadata that is not empty and was last used at most MetadataTTL before now, a Batch.Age. Of more
	// than MaxRunsOf it returns the first ones. The prefix is ASCII and not empty.
	RunsOf(ctx context.Context, session wire.Session, prefix string, now time.Time) ([]NamedRun, error)

	// HookState returns one value of a hook's state; Version 0 means absent.
	HookState(ctx context.Context, namespace, key string) (StateValue, error)

	// StateUsage returns how much a namespace holds.
	StateUsage(ctx context.Context, namespace string) (StateUsage, error)

	// Latch returns the latch of the session, else the one of its whole runtime, or nil.
	// One that holds what names no session does not hold a session; see Latch.Holds.
	Latch(ctx context.Context, key wire.Session) (*Latch, error)

	// Latches returns all latches, oldest first.
	Latches(ctx context.Context) ([]Latch, error)

	// Commit writes the batch in one transaction, all or nothing, and returns
	// only when it is durable. Sequence numbers are given in the order of
	// Batch.Events, without gaps, after every earlier commit's.
	//
	// ctx is obeyed until the writing has begun, not after: an answer that
	// would leave open whether the batch was written is never given.
	Commit(ctx context.Context, b Batch) (Receipt, error)

	// Probe writes something durably that restricts nothing and that no event needs. A nil
	// error means that a batch could be committed: the store can write, and the rows that
	// restrict are those that the log records.
	Probe(ctx context.Context, now time.Time) error

	// Events returns events in order of their sequence numbers.
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)

	// Reader shows the queue of what people decide; Batch.Approvals changes it.
	approvals.Reader

	// Store of leases: Batch.Leases changes them.
	leases.Store

	// Log is the same events, provably complete.
	Log

	// Close releases the store. Commits that were accepted before are finished.
	Close() error
}

// RunState is carried along a run: the metadata that hooks annotate and how
// often each binding's retry was used. Version 0 means that nothing is stored.
type RunState struct {
	Version  int64
	Metadata phases.Metadata
	Retries  map[string]int // by binding name
}

// NamedRun is one run of Store.RunsOf.
type NamedRun struct {
	Run string
	RunState
}

// MaxRunsOf is how many runs Store.RunsOf returns at most.
const MaxRunsOf = 256

// StateValue is one value of a hook's state. Versions are positive and never come
// back for a key, not even when it was removed and written again.
type StateValue struct {
	Value   []byte
	Version int64
}

// StateUsage is how much a namespace holds.
type StateUsage struct {
	Keys  int
	Bytes int64 // keys and values
}

// StateRead says that a value was read at a version; the commit checks that it still holds.
type StateRead struct {
	Namespace, Key string
	Version        int64
}

// StateWrite sets or removes a value.
type StateWrite struct {
	Namespace, Key string
	Value          []byte
	Delete         bool
}

// RunWrite replaces the state that is carried along a run, if Version is still the stored one.
type RunWrite struct {
	Key      phases.RunKey
	Version  int64 // as read; 0 when nothing was stored
	Metadata phases.Metadata
	Retries  map[string]int
}

// Batch is everything that one commit writes.
type Batch struct {
	Now         time.Time      // the kernel's clock
	Calm        time.Time      // dates the use of runs, and ages are counted by it; see Age
	Events      []phases.Event // Seq is ignored on the way in
	Run         *RunWrite      // nil: metadata unchanged
	Calls       []RunWrite     // likewise, each of another run: what is carried from a call to its result
	TouchRun    *phases.RunKey // marks the run as used without changing it
	StateReads  []StateRead
	StateWrites []StateWrite
	Unlatched   *wire.Session // the batch holds only while no latch holds this session
	// set, unless the session is latched already by one that it does not replace; see Latch.Replaces
	Latch      *Latch
	ClearLatch *wire.Session // ErrConflict when there is none
	// not "": ErrConflict unless that latch is of this invocation and ends by itself; see Latch.EndsItself
	ClearOf string

	// Compact gives up the contents of events 1 to this number; the batch's first
	// event announces that. They are removed by Log.LogRemove. ErrConflict when
	// there are not so many events, or as many were compacted before. 0: none.
	Compact   int64
	Approvals []approvals.Op // in order; ErrConflict when a step does not fit
	Leases    []leases.Op    // in order; ErrConflict when what one rests on does not hold any more

	// Prune drops, after everything else, the contents of runs last used more than
	// MetadataTTL before Age, approvals that are Forgettable, and leases that have been over
	// for leases.Retention.
	Prune bool
}

// Age returns the time by which things are deleted for their age: Calm, which a jump of the
// clock does not move ahead, or Now where the kernel gave none.
func (b *Batch) Age() time.Time {
	if b.Calm.IsZero() {
		return b.Now
	}
	return b.Calm
}

// Valid returns an error for a batch that changes rows without an event. All rows that a
// batch can change restrict something, and the digest of them is in its last event
// (phases.Event.Restrictions): what no event covers could not be told from an edit by others.
func (b *Batch) Valid() error {
	changes := b.Run != nil || len(b.Calls) > 0 || b.TouchRun != nil || len(b.StateWrites) > 0 || b.Latch != nil ||
		b.ClearLatch != nil ||
		b.Compact != 0 || len(b.Approvals) > 0 || len(b.Leases) > 0 || b.Prune
	if changes && len(b.Events) == 0 {
		return fmt.Errorf("%w: a change of rows that restrict needs an event", ErrUnavailable)
	}
	return nil
}

// Runs returns the writes of Run and Calls.
func (b *Batch) Runs() []RunWrite {
	if b.Run == nil {
		return b.Calls
	}
	return append([]RunWrite{*b.Run}, b.Calls...)
}

// Receipt acknowledges a durable batch. First and Last are 0 when it had no events.
type Receipt struct {
	First, Last int64 // sequence numbers, inclusive
	Pruned      int   // runs that Batch.Prune dropped
}
