// Package outside is what a program of another module writes around belay: a store, a loader,
// a verifier, an executor of tools and a recorder of its own. It names only what belay makes
// public. Its tests are the proof that this is enough; the code is kept short, not fast.
package outside

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Store is a kernel.Store in memory. Each commit copies all rows, changes the copy and swaps
// it in: all or nothing. It has no Durable method, so that a host keeps events in it as in a
// database; a program would write one that outlives the process. Safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	closed bool
	rows   *rows
	bodies [][]byte // encoded events; nil once removed
	ids    map[string]int64
	tree   []tlog.Hash
	notes  [][]byte // signed checkpoints
}

// rows are what commits change beside the events.
type rows struct {
	runs    map[phases.RunKey]run
	state   map[stateKey]kernel.StateValue
	version int64 // the last one given to a value
	latches map[wire.Session]kernel.Latch
	queue   map[string]approvals.Item
	leases  map[string]leases.Lease
	high    time.Time // the highest wall time of a commit
	gone    kernel.Compacted
}

type stateKey struct{ Namespace, Key string }

type run struct {
	State kernel.RunState
	Used  time.Time
}

// New returns an empty store.
func New() *Store {
	return &Store{ids: map[string]int64{}, rows: &rows{runs: map[phases.RunKey]run{},
		state: map[stateKey]kernel.StateValue{}, latches: map[wire.Session]kernel.Latch{},
		queue: map[string]approvals.Item{}, leases: map[string]leases.Lease{}}}
}

func (r *rows) clone() *rows {
	next := *r
	next.runs, next.state, next.latches = maps.Clone(r.runs), maps.Clone(r.state), maps.Clone(r.latches)
	next.queue, next.leases = maps.Clone(r.queue), maps.Clone(r.leases)
	return &next
}

// view runs a read under the lock.
func view[T any](ctx context.Context, s *Store, read func(*rows) T) (out T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return out, err
	}
	return read(s.rows), nil
}

// usable reports why nothing can be read or written. Preconditions: s.mu is held.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
	}
	if s.closed {
		return fmt.Errorf("%w: closed", kernel.ErrUnavailable)
	}
	return nil
}

func conflict(what string) error { return fmt.Errorf("%w: %s", kernel.ErrConflict, what) }

// Close implements kernel.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// Probe implements kernel.Store.
func (s *Store) Probe(ctx context.Context, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usable(ctx)
}

// RunState implements kernel.Store.
func (s *Store) RunState(ctx context.Context, key phases.RunKey, now time.Time) (kernel.RunState, error) {
	return view(ctx, s, func(r *rows) kernel.RunState {
		found := r.runs[key]
		if now.Sub(found.Used) > kernel.MetadataTTL {
			return kernel.RunState{Version: found.State.Version}
		}
		return cloneRun(found.State)
	})
}

// RunsOf implements kernel.Store.
func (s *Store) RunsOf(ctx context.Context, session wire.Session, prefix string,
	now time.Time) ([]kernel.NamedRun, error) {
	return view(ctx, s, func(r *rows) (out []kernel.NamedRun) {
		for key, found := range r.runs {
			if key.Runtime == session.Runtime && key.Session == session.Session && strings.HasPrefix(key.Run, prefix) &&
				len(found.State.Metadata) > 0 && now.Sub(found.Used) <= kernel.MetadataTTL {
				out = append(out, kernel.NamedRun{Run: key.Run, RunState: cloneRun(found.State)})
			}
		}
		slices.SortFunc(out, func(a, b kernel.NamedRun) int { return strings.Compare(a.Run, b.Run) })
		return out[:min(len(out), kernel.MaxRunsOf)]
	})
}

func cloneRun(st kernel.RunState) kernel.RunState {
	st.Retries, st.Metadata = maps.Clone(st.Retries), maps.Clone(st.Metadata)
	for name, entry := range st.Metadata {
		entry.Value = slices.Clone(entry.Value)
		st.Metadata[name] = entry
	}
	return st
}

// HookState implements kernel.Store.
func (s *Store) HookState(ctx context.Context, namespace, key string) (kernel.StateValue, error) {
	return view(ctx, s, func(r *rows) kernel.StateValue {
		v := r.state[stateKey{namespace, key}]
		v.Value = slices.Clone(v.Value)
		return v
	})
}

// StateUsage implements kernel.Store.
func (s *Store) StateUsage(ctx context.Context, namespace string) (kernel.StateUsage, error) {
	return view(ctx, s, func(r *rows) (use kernel.StateUsage) {
		for k, v := range r.state {
			if k.Namespace == namespace {
				use.Keys++
				use.Bytes += int64(len(k.Key) + len(v.Value))
			}
		}
		return use
	})
}

// Latch implements kernel.Store.
func (s *Store) Latch(ctx context.Context, key wire.Session) (*kernel.Latch, error) {
	return view(ctx, s, func(r *rows) *kernel.Latch { return r.latch(key) })
}

func (r *rows) latch(key wire.Session) *kernel.Latch {
	for _, at := range []wire.Session{key, {Runtime: key.Runtime}} {
		if l, ok := r.latches[at]; ok && l.Holds(key) {
			return &l
		}
	}
	return nil
}

// Latches implements kernel.Store.
func (s *Store) Latches(ctx context.Context) ([]kernel.Latch, error) {
	return view(ctx, s, (*rows).latchesByAge)
}

func (r *rows) latchesByAge() []kernel.Latch {
	return slices.SortedFunc(maps.Values(r.latches), func(a, b kernel.Latch) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Runtime, b.Runtime), cmp.Compare(a.Session, b.Session))
	})
}

// Events implements kernel.Store.
func (s *Store) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	var out []phases.Event
	for _, body := range s.bodies {
		var e phases.Event
		if body == nil {
			continue
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
		}
		if q.Match(&e) {
			out = append(out, e)
		}
	}
	if n := q.EffectiveLimit(); len(out) > n && q.Newest {
		out = out[len(out)-n:]
	} else if len(out) > n {
		out = out[:n]
	}
	return out, nil
}

// Commit implements kernel.Store.
func (s *Store) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return kernel.Receipt{}, err
	}
	if err := b.Valid(); err != nil {
		return kernel.Receipt{}, err
	}
	next, seq := s.rows.clone(), int64(len(s.bodies))
	if err := next.holds(&b, seq); err != nil {
		return kernel.Receipt{}, err
	}
	if err := next.changeQueue(b.Approvals); err != nil {
		return kernel.Receipt{}, err
	}
	for i := range b.Leases {
		if err := next.changeLeases(&b.Leases[i]); err != nil {
			return kernel.Receipt{}, err
		}
	}
	next.apply(&b, seq)
	pruned := next.prune(&b)
	if len(b.Events) == 0 {
		return kernel.Receipt{}, nil
	}
	if b.Now.After(next.high) {
		next.high = b.Now
	}
	ids, bodies, err := s.encode(b.Events, next)
	if err != nil {
		return kernel.Receipt{}, err
	}
	tree := slices.Clone(s.tree)
	for i, body := range bodies {
		hashes, err := tlog.StoredHashes(seq+int64(i), body, reader(&tree))
		if err != nil {
			return kernel.Receipt{}, fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
		}
		tree = append(tree, hashes...)
	}
	s.rows, s.tree, s.bodies = next, tree, append(s.bodies, bodies...)
	maps.Copy(s.ids, ids)
	return kernel.Receipt{First: seq + 1, Last: int64(len(s.bodies)), Pruned: pruned}, nil
}

// encode returns the events as they are stored: numbered, and the last one with the digest of
// the rows after the batch.
func (s *Store) encode(events []phases.Event, next *rows) (map[string]int64, [][]byte, error) {
	ids := map[string]int64{}
	var bodies [][]byte
	for i, e := range events {
		if s.ids[e.ID] != 0 || ids[e.ID] != 0 || e.ID == "" {
			return nil, nil, fmt.Errorf("%w: event id %q is empty or taken", kernel.ErrUnavailable, e.ID)
		}
		e.Seq, e.Time, e.Restrictions, e.Shared = int64(len(s.bodies)+i+1), e.Time.UTC(), "", ""
		if i == len(events)-1 {
			_, root, err := next.digest()
			if err != nil {
				return nil, nil, err
			}
			e.Restrictions = root
		}
		body, err := json.Marshal(&e, json.Deterministic(true))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
		}
		ids[e.ID], bodies = e.Seq, append(bodies, body)
	}
	return ids, bodies, nil
}

// holds checks what the batch was computed from.
func (r *rows) holds(b *kernel.Batch, last int64) error {
	if b.Unlatched != nil && r.latch(*b.Unlatched) != nil {
		return conflict("the session is latched")
	}
	if b.ClearLatch != nil {
		if l, ok := r.latches[*b.ClearLatch]; !ok || b.ClearOf != "" && !l.EndsItself(b.ClearOf) {
			return conflict("no such latch")
		}
	}
	if b.Compact != 0 && (b.Compact <= r.gone.Through || b.Compact > last) {
		return conflict("compaction")
	}
	for _, w := range b.Runs() {
		if r.runs[w.Key].State.Version != w.Version {
			return conflict("metadata of the run")
		}
	}
	for _, read := range b.StateReads {
		if r.state[stateKey{read.Namespace, read.Key}].Version != read.Version {
			return conflict("state of a hook")
		}
	}
	return nil
}

// apply makes the changes that cannot fail.
func (r *rows) apply(b *kernel.Batch, last int64) {
	if b.Compact != 0 {
		r.gone = kernel.Compacted{Through: b.Compact, Event: last + 1, Left: r.gone.Left + b.Compact - r.gone.Through}
	}
	for _, w := range b.Runs() {
		st := cloneRun(kernel.RunState{Version: w.Version + 1, Metadata: w.Metadata, Retries: w.Retries})
		r.runs[w.Key] = run{st, b.Age()}
	}
	if b.TouchRun != nil {
		// A run that has expired stays so: its contents must not come back.
		if old, ok := r.runs[*b.TouchRun]; ok && b.Age().After(old.Used) && b.Age().Sub(old.Used) <= kernel.MetadataTTL {
			r.runs[*b.TouchRun] = run{old.State, b.Age()}
		}
	}
	for _, w := range b.StateWrites {
		if w.Delete {
			delete(r.state, stateKey{w.Namespace, w.Key})
			continue
		}
		r.version++
		r.state[stateKey{w.Namespace, w.Key}] = kernel.StateValue{Value: slices.Clone(w.Value), Version: r.version}
	}
	if b.ClearLatch != nil {
		delete(r.latches, *b.ClearLatch)
	}
	if b.Latch != nil {
		if old, ok := r.latches[b.Latch.Key()]; !ok || b.Latch.Replaces(&old) {
			l := *b.Latch
			l.Since = l.Since.UTC().Round(0)
			r.latches[l.Key()] = l
		}
	}
}

func (r *rows) prune(b *kernel.Batch) int {
	if !b.Prune {
		return 0
	}
	age, before := b.Age(), len(r.runs)
	maps.DeleteFunc(r.queue, func(_ string, it approvals.Item) bool { return it.Forgettable(age) })
	maps.DeleteFunc(r.leases, func(_ string, l leases.Lease) bool {
		return l.ExpiresAt.Before(age.Add(-leases.Retention))
	})
	maps.DeleteFunc(r.runs, func(_ phases.RunKey, old run) bool { return age.Sub(old.Used) > kernel.MetadataTTL })
	return before - len(r.runs)
}

// reader reads the hashes of a tree that still grows.
func reader(tree *[]tlog.Hash) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			if i < 0 || i >= int64(len(*tree)) {
				return nil, fmt.Errorf("%w: the tree has no hash %d", kernel.ErrUnavailable, i)
			}
			out = append(out, (*tree)[i])
		}
		return out, nil
	})
}

var _ kernel.Store = (*Store)(nil)

// same compares notes.
func same(notes [][]byte) func([]byte) bool {
	return func(n []byte) bool {
		return slices.ContainsFunc(notes, func(o []byte) bool { return bytes.Equal(n, o) })
	}
}
