// Package memory is a store that lives and dies with the process. It decides
// nothing beyond the contract of kernel.Store, and it never touches a disk: what
// it acknowledges is as durable as the process, which is enough for tests and
// for embedders that keep their own record.
package memory

import (
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
	"github.com/belay-hooks/belay/internal/approvaltable"
	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/leasetable"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

type stateKey struct{ namespace, key string }

type run struct {
	state kernel.RunState
	used  time.Time
}

// Store is a kernel.Store in memory. It is safe for concurrent use.
type Store struct {
	mu      sync.Mutex
	closed  bool
	bodies  [][]byte // encoded events, so that no caller holds or changes a stored one; nil once removed
	tree    []tlog.Hash
	notes   [][]byte // checkpoints
	given   kernel.Compacted
	ids     map[string]int64 // numbers of events
	runs    map[phases.RunKey]run
	state   map[stateKey]kernel.StateValue
	version int64 // the last one given to a value
	latches map[wire.Session]kernel.Latch
	lease   leasetable.Table
	queue   approvaltable.Table
	buffers eventbytes.Pool            // in which events are encoded
	event   phases.Event               // that is encoded; empty between batches
	covered *restrict.Set              // the rows that restrict, as the newest event records them
	root    restrict.Digest            // of covered
	single  single                     // as covered holds them
	digests map[string]restrict.Digest // of the approvals that covered holds, by id
}

// clockStep is how far the wall time moves before it is noted: each note changes what is covered.
const clockStep = time.Second

// New returns an empty store.
func New() *Store {
	return &Store{
		ids:     map[string]int64{},
		runs:    map[phases.RunKey]run{},
		state:   map[stateKey]kernel.StateValue{},
		latches: map[wire.Session]kernel.Latch{},
		queue:   approvaltable.Table{},
		digests: map[string]restrict.Digest{},
	}
}

// enter checks that work can begin. Preconditions: s.mu is held.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
	}
	if s.closed {
		return fmt.Errorf("%w: closed", kernel.ErrUnavailable)
	}
	return nil
}

// RunState implements kernel.Store.
func (s *Store) RunState(ctx context.Context, key phases.RunKey, now time.Time) (kernel.RunState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return kernel.RunState{}, err
	}
	r := s.runs[key]
	if now.Sub(r.used) > kernel.MetadataTTL {
		return kernel.RunState{Version: r.state.Version}, nil
	}
	return cloneRun(r.state), nil
}

// RunsOf implements kernel.Store.
func (s *Store) RunsOf(ctx context.Context, session wire.Session, prefix string,
	now time.Time) ([]kernel.NamedRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var out []kernel.NamedRun
	for key, r := range s.runs {
		if key.Runtime == session.Runtime && key.Session == session.Session && strings.HasPrefix(key.Run, prefix) &&
			len(r.state.Metadata) > 0 && now.Sub(r.used) <= kernel.MetadataTTL {
			out = append(out, kernel.NamedRun{Run: key.Run, RunState: cloneRun(r.state)})
		}
	}
	slices.SortFunc(out, func(a, b kernel.NamedRun) int { return strings.Compare(a.Run, b.Run) })
	return out[:min(len(out), kernel.MaxRunsOf)], nil
}

func cloneRun(r kernel.RunState) kernel.RunState {
	out := kernel.RunState{Version: r.Version, Retries: maps.Clone(r.Retries)}
	if r.Metadata != nil {
		out.Metadata = make(phases.Metadata, len(r.Metadata))
		for k, e := range r.Metadata {
			e.Value = slices.Clone(e.Value)
			out.Metadata[k] = e
		}
	}
	return out
}

// HookState implements kernel.Store.
func (s *Store) HookState(ctx context.Context, namespace, key string) (kernel.StateValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return kernel.StateValue{}, err
	}
	v := s.state[stateKey{namespace, key}]
	v.Value = slices.Clone(v.Value)
	return v, nil
}

// StateUsage implements kernel.Store.
func (s *Store) StateUsage(ctx context.Context, namespace string) (kernel.StateUsage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var u kernel.StateUsage
	if err := s.enter(ctx); err != nil {
		return u, err
	}
	for k, v := range s.state {
		if k.namespace == namespace {
			u.Keys++
			u.Bytes += int64(len(k.key) + len(v.Value))
		}
	}
	return u, nil
}

// Latch implements kernel.Store.
func (s *Store) Latch(ctx context.Context, key wire.Session) (*kernel.Latch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	return s.latch(key), nil
}

// latch returns what holds the session, or nil. Preconditions: s.mu is held.
func (s *Store) latch(key wire.Session) *kernel.Latch {
	for _, k := range []wire.Session{key, {Runtime: key.Runtime}} {
		if l, ok := s.latches[k]; ok && l.Holds(key) {
			held := l // only a latch that holds is moved to the heap
			return &held
		}
	}
	return nil
}

// Latches implements kernel.Store.
func (s *Store) Latches(ctx context.Context) ([]kernel.Latch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	out := slices.Collect(maps.Values(s.latches))
	slices.SortFunc(out, func(a, b kernel.Latch) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Runtime, b.Runtime), cmp.Compare(a.Session, b.Session))
	})
	return out, nil
}

// Commit implements kernel.Store.
func (s *Store) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return kernel.Receipt{}, err
	}
	if err := b.Valid(); err != nil {
		return kernel.Receipt{}, err
	}
	if err := s.check(&b); err != nil {
		return kernel.Receipt{}, err
	}
	// Everything that can fail comes before anything is changed.
	queue, err := s.queue.After(b.Approvals)
	if err != nil {
		return kernel.Receipt{}, err
	}
	bodies, err := s.encode(b.Events)
	if err != nil {
		return kernel.Receipt{}, err
	}
	lent, err := s.lent(&b)
	if err != nil {
		return kernel.Receipt{}, err
	}
	if len(bodies) == 0 {
		return kernel.Receipt{}, nil
	}
	s.apply(&b)
	s.queue.Take(queue)
	s.lease = *lent
	if b.Now.Sub(s.lease.High()) >= clockStep {
		s.lease.Saw(b.Now)
	}
	for i := range b.Events {
		s.ids[b.Events[i].ID] = int64(len(s.bodies) + i + 1)
	}
	pruned := 0
	if b.Prune {
		pruned = s.prune(b.Age())
	}
	if err = s.coverBatch(&b); err != nil {
		s.closed = true // it cannot happen, and half a batch must not stay
		return kernel.Receipt{}, fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
	}
	stamp(bodies[len(bodies)-1], s.root)
	s.grow(bodies)
	rec := kernel.Receipt{First: int64(len(s.bodies)) + 1, Last: int64(len(s.bodies) + len(bodies)), Pruned: pruned}
	s.bodies = append(s.bodies, bodies...)
	return rec, nil
}

// differ reports whether no two events have the same id.
func differ(events []phases.Event) bool {
	const few = 16 // are compared with each other
	if len(events) > few {
		seen := make(map[string]bool, len(events))
		for i := range events {
			seen[events[i].ID] = true
		}
		return len(seen) == len(events)
	}
	for i := range events {
		for k := range i {
			if events[i].ID == events[k].ID {
				return false
			}
		}
	}
	return true
}

// encode returns the bodies of the next events. Preconditions: s.mu is held.
func (s *Store) encode(events []phases.Event) ([][]byte, error) {
	if !differ(events) {
		return nil, fmt.Errorf("%w: two events have one id", kernel.ErrUnavailable)
	}
	bodies := make([][]byte, len(events))
	buffer := s.buffers.Get()
	defer s.buffers.Put(buffer)
	e := &s.event
	defer func() { *e = phases.Event{} }() // what it shares with the caller is not kept
	for i := range events {
		*e = events[i]
		if e.ID == "" || s.ids[e.ID] != 0 {
			return nil, fmt.Errorf("%w: event id %q is empty or taken", kernel.ErrUnavailable, e.ID)
		}
		e.Seq = int64(len(s.bodies) + i + 1)
		e.Time, e.Restrictions, e.Shared = e.Time.UTC(), "", ""
		if i == len(events)-1 {
			e.Restrictions = blank
		}
		body, err := eventbytes.Append(buffer[:0], e)
		if err != nil {
			return nil, fmt.Errorf("%w: encode event: %w", kernel.ErrUnavailable, err)
		}
		if cap(body) == cap(buffer) || cap(body)-len(body) > len(body)/4 {
			bodies[i] = slices.Clone(body) // what it was encoded in is used again, or much longer
		} else {
			bodies[i] = body
		}
	}
	return bodies, nil
}

// check compares what the batch was computed from. Preconditions: s.mu is held.
func (s *Store) check(b *kernel.Batch) error {
	if b.Unlatched != nil && s.latch(*b.Unlatched) != nil {
		return fmt.Errorf("%w: session latched", kernel.ErrConflict)
	}
	if b.ClearLatch != nil {
		if l, ok := s.latches[*b.ClearLatch]; !ok || b.ClearOf != "" && !l.EndsItself(b.ClearOf) {
			return fmt.Errorf("%w: no such latch", kernel.ErrConflict)
		}
	}
	if b.Compact != 0 && (b.Compact <= s.given.Through || b.Compact > int64(len(s.bodies)) || len(b.Events) == 0) {
		return fmt.Errorf("%w: compaction", kernel.ErrConflict)
	}
	for _, r := range b.Runs() {
		if s.runs[r.Key].state.Version != r.Version {
			return fmt.Errorf("%w: run metadata", kernel.ErrConflict)
		}
	}
	for _, r := range b.StateReads {
		if s.state[stateKey{r.Namespace, r.Key}].Version != r.Version {
			return fmt.Errorf("%w: hook state", kernel.ErrConflict)
		}
	}
	return nil
}

// apply changes everything but the events. Preconditions: s.mu is held.
func (s *Store) apply(b *kernel.Batch) {
	if b.Compact != 0 {
		s.given.Through, s.given.Left = b.Compact, s.given.Left+b.Compact-s.given.Through
		s.given.Event = int64(len(s.bodies)) + 1
	}
	for _, r := range b.Runs() {
		st := cloneRun(kernel.RunState{Version: r.Version + 1, Metadata: r.Metadata, Retries: r.Retries})
		s.runs[r.Key] = run{state: st, used: b.Age()}
	}
	if b.TouchRun != nil {
		// An expired run stays expired: using it must not bring its contents back.
		if r, ok := s.runs[*b.TouchRun]; ok && b.Age().After(r.used) && b.Age().Sub(r.used) <= kernel.MetadataTTL {
			r.used = b.Age()
			s.runs[*b.TouchRun] = r
		}
	}
	for _, w := range b.StateWrites {
		k := stateKey{w.Namespace, w.Key}
		if w.Delete {
			delete(s.state, k)
			continue
		}
		s.version++
		s.state[k] = kernel.StateValue{Value: slices.Clone(w.Value), Version: s.version}
	}
	if b.ClearLatch != nil {
		delete(s.latches, *b.ClearLatch)
	}
	if b.Latch != nil {
		if old, ok := s.latches[b.Latch.Key()]; !ok || b.Latch.Replaces(&old) {
			l := *b.Latch
			l.Since = l.Since.UTC().Round(0)
			s.latches[l.Key()] = l
		}
	}
}

// Events implements kernel.Store.
func (s *Store) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var out []phases.Event
	limit := q.EffectiveLimit()
	first, end := 0, len(s.bodies)
	if q.ID != "" { // one event at most, and asked for often
		end = int(s.ids[q.ID])
		first = max(0, end-1)
	}
	for i := first; i < end; i++ {
		at := i
		if q.Newest {
			at = first + end - 1 - i
		}
		if s.bodies[at] == nil {
			continue
		}
		var e phases.Event
		if err := json.Unmarshal(s.bodies[at], &e); err != nil {
			return nil, fmt.Errorf("%w: decode event %d: %w", kernel.ErrUnavailable, at+1, err)
		}
		if q.Match(&e) {
			if out = append(out, e); len(out) == limit {
				break
			}
		}
	}
	if q.Newest {
		slices.Reverse(out)
	}
	return out, nil
}

// Probe implements kernel.Store.
func (s *Store) Probe(ctx context.Context, _ time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enter(ctx)
}

// prune drops what has had its time. Preconditions: s.mu is held.
func (s *Store) prune(now time.Time) (runs int) {
	s.queue.Prune(now)
	s.lease.Prune(now.Add(-leases.Retention))
	n := len(s.runs)
	maps.DeleteFunc(s.runs, func(_ phases.RunKey, r run) bool { return now.Sub(r.used) > kernel.MetadataTTL })
	return n - len(s.runs)
}

// Close implements kernel.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

var _ kernel.Store = (*Store)(nil)
