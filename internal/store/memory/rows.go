package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// digest is the content of a row: values that were stored before, so that they encode.
func digest(v any, numbers ...int64) (restrict.Digest, error) {
	var h restrict.Hasher
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return restrict.Digest{}, fmt.Errorf("%w: encode what restricts: %w", kernel.ErrUnavailable, err)
	}
	h.Blob(b)
	for _, n := range numbers {
		h.Int(n)
	}
	return h.Sum(), nil
}

// editor puts rows until one cannot be encoded.
type editor struct {
	*restrict.Editor
	err error
}

func (e *editor) put(t restrict.Table, v any, numbers []int64, key ...string) {
	e.Put(t, restrict.Key(key...), e.digest(v, numbers...))
}

func (e *editor) digest(v any, numbers ...int64) restrict.Digest {
	d, err := digest(v, numbers...)
	if err != nil && e.err == nil {
		e.err = err
	}
	return d
}

// single are the rows of which there is one each.
type single struct {
	version int64
	high    time.Time
	given   kernel.Compacted
}

// coverBatch brings covered to what the rows are after a batch. Most batches change none of them.
// Preconditions: s.mu is held, and the batch has been applied.
func (s *Store) coverBatch(b *kernel.Batch) error {
	now := single{s.version, s.lease.High(), s.given}
	if s.covered != nil && now == s.single && b.Latch == nil && b.ClearLatch == nil && len(b.Approvals) == 0 &&
		len(b.Leases) == 0 && !b.Prune && len(b.Runs()) == 0 && b.TouchRun == nil && len(b.StateWrites) == 0 {
		return nil
	}
	set, err := s.cover(s.covered, b)
	if err == nil {
		s.covered, s.root, s.single = set, set.Root(), now
	}
	return err
}

// cover returns the set of the rows after a batch; with nil, of all rows as they are.
// Preconditions: s.mu is held, and the batch has been applied.
func (s *Store) cover(set *restrict.Set, b *kernel.Batch) (*restrict.Set, error) {
	all := b == nil
	if all {
		b, set = &kernel.Batch{}, &restrict.Set{}
	}
	e := &editor{Editor: set.Edit()}
	if all || b.Latch != nil || b.ClearLatch != nil {
		e.Clear(restrict.Latches)
		for k, l := range s.latches {
			e.put(restrict.Latches, l, nil, k.Runtime, k.Session)
		}
	}
	if all || len(b.Approvals) > 0 || b.Prune {
		s.coverApprovals(e, b, all)
	}
	if all || len(b.Leases) > 0 || b.Prune {
		e.Clear(restrict.Leases)
		for l := range s.lease.All() {
			e.put(restrict.Leases, l, []int64{int64(l.BootFrom), int64(l.BootUntil)}, l.ID)
		}
	}
	s.coverRuns(e, b, all)
	for _, w := range b.StateWrites {
		s.coverState(e, stateKey{w.Namespace, w.Key})
	}
	if all {
		for k := range s.state {
			s.coverState(e, k)
		}
	}
	e.put(restrict.StateVersion, s.version, nil)
	e.put(restrict.LeaseClock, s.lease.High(), nil)
	e.put(restrict.Compaction, s.given.Through, []int64{s.given.Event})
	return e.Set(), e.err
}

// coverApprovals reuses the digests of items that the batch leaves as they are: a full queue holds
// megabytes, and each commit would encode them anew.
func (s *Store) coverApprovals(e *editor, b *kernel.Batch, all bool) {
	e.Clear(restrict.Approvals)
	e.Clear(restrict.ApprovalKeys)
	type question struct {
		kind approvals.Kind
		key  string
	}
	newest := map[question]string{}
	known := s.digests
	if all {
		known = nil
	}
	changed := map[string]bool{}
	for _, op := range b.Approvals {
		if op.Create != nil {
			changed[op.Create.ID] = true
		} else {
			changed[op.Change.ID] = true
		}
	}
	digests := make(map[string]restrict.Digest, len(s.queue))
	for id, it := range s.queue {
		d, ok := known[id]
		if !ok || changed[id] {
			d = e.digest(it)
		}
		digests[id] = d
		e.Put(restrict.Approvals, restrict.Key(id), d)
		q := question{it.Kind, it.Key}
		newest[q] = max(newest[q], id)
	}
	for q, id := range newest {
		e.put(restrict.ApprovalKeys, id, nil, string(q.kind), q.key)
	}
	if !all {
		s.digests = digests
	}
}

func (s *Store) coverRuns(e *editor, b *kernel.Batch, all bool) {
	keys := []phases.RunKey{}
	switch {
	case all || b.Prune:
		e.Clear(restrict.Runs)
		keys = slices.Collect(maps.Keys(s.runs))
	default:
		for _, r := range b.Runs() {
			keys = append(keys, r.Key)
		}
		if b.TouchRun != nil {
			keys = append(keys, *b.TouchRun)
		}
	}
	for _, k := range keys {
		if r, ok := s.runs[k]; ok {
			e.put(restrict.Runs, r.state, []int64{r.state.Version, r.used.UnixNano()}, k.Runtime, k.Session, k.Run)
		}
	}
}

func (s *Store) coverState(e *editor, k stateKey) {
	v, ok := s.state[k]
	if !ok {
		e.Delete(restrict.State, restrict.Key(k.namespace, k.key))
		return
	}
	e.put(restrict.State, v.Value, []int64{v.Version}, k.namespace, k.key)
}

// stamp writes the digest of the rows into an encoded event that was made with blank. It stands in front of what
// others have written.
func stamp(body []byte, root restrict.Digest) {
	copy(body[bytes.Index(body, []byte(blank)):], root.String())
}

// blank stands where the digest of the rows will: no rows have it.
const blank = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// Restrictions implements kernel.Store.
func (s *Store) Restrictions(ctx context.Context) (out kernel.Restrictions, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return out, err
	}
	out.Seq, out.Since = int64(len(s.bodies)), min(1, int64(len(s.bodies)))
	found, err := s.cover(nil, nil)
	if err != nil {
		return out, err
	}
	out.Found, out.Tables = found.Root().String(), found.Node()
	out.Latches = slices.SortedFunc(maps.Values(s.latches), func(a, b kernel.Latch) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Runtime, b.Runtime), cmp.Compare(a.Session, b.Session))
	})
	if out.Seq == 0 {
		return out, nil
	}
	var e phases.Event
	if err := json.Unmarshal(s.bodies[out.Seq-1], &e); err != nil {
		return out, fmt.Errorf("%w: decode event %d: %w", kernel.ErrUnavailable, out.Seq, err)
	}
	if out.Recorded = e.Restrictions; out.Recorded != out.Found {
		out.Tampered = &kernel.Tampered{Seq: out.Seq}
		for _, ch := range restrict.Diff(s.covered, found, kernel.MaxTamperedRows) {
			out.Tampered.Add(ch.Table.String(), ch.Key, ch.What)
		}
	}
	return out, nil
}
