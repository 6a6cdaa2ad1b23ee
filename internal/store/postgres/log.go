package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const (
	logOfKernel    = "SELECT size, tail FROM kernels WHERE id = $1"
	leavesOfKernel = "SELECT seq, id, time_ns, body FROM events WHERE kernel = $1 AND seq > $2 ORDER BY seq LIMIT $3"
	notesOfKernel  = "SELECT note FROM checkpoints WHERE kernel = $1 ORDER BY id"
	compactionOf   = "SELECT through, announced, greatest(0, through - first + 1) FROM kernels WHERE id = $1"
)

// LogSize implements kernel.Store.
func (s *Store) LogSize(ctx context.Context) (size int64, err error) {
	if s.unwritten() {
		return 0, nil
	}
	err = s.read(ctx, "read the size of the log", func(b *pgx.Batch) {
		b.Queue(logOfKernel, s.kernel).QueryRow(func(r pgx.Row) error { return r.Scan(&size, nil) })
	})
	return size, err
}

// LogLeaves implements kernel.Store.
func (s *Store) LogLeaves(ctx context.Context, after int64, limit int) (out []kernel.LogLeaf, err error) {
	err = s.view(ctx, "read the log", func(tx pgx.Tx) (err error) {
		out = nil
		check := &lookupCheck{tx: tx, kernel: s.kernel, number: -1}
		if check.through, err = indexedThrough(ctx, tx, s.kernel); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, leavesOfKernel, s.kernel, after, limit)
		if err != nil {
			return err
		}
		var times []int64
		var ids []string
		var seq, ns int64
		var id, body []byte
		if _, err := pgx.ForEachRow(rows, []any{&seq, &id, &ns, &body}, func() error {
			out = append(out, kernel.LogLeaf{Seq: seq, Body: slices.Clone(body)})
			times, ids = append(times, ns), append(ids, string(id))
			return nil
		}); err != nil {
			return err
		}
		for i := range out {
			l := &out[i]
			var e phases.Event
			if eventbytes.Head(l.Body, &e) == nil && e.Seq == l.Seq && e.ID == ids[i] && e.Time.UnixNano() == times[i] {
				if l.Copies, err = check.holds(ctx, &e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, err
}

// A lookupCheck compares events with the blocks that they are in.
type lookupCheck struct {
	tx      pgx.Tx
	kernel  int32
	through int64
	block   *lookup.Block
	number  int64 // of block, which is nil when there is none
}

// holds reports whether the lookup says of the event what the event says.
func (l *lookupCheck) holds(ctx context.Context, e *phases.Event) (ok bool, err error) {
	if e.Seq > l.through {
		return true, nil // it is searched without the lookup
	}
	if n, _ := lookup.BlockOf(e.Seq); n != l.number {
		l.number = n
		if l.block, err = loadBlock(ctx, l.tx, l.kernel, n); err != nil {
			return false, err
		}
	}
	return l.block != nil && l.block.Holds(e), nil
}

// LogHashes implements kernel.Store.
func (s *Store) LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	out := make([][32]byte, len(indexes))
	err := s.view(ctx, "read the tree", func(tx pgx.Tx) error {
		var size int64
		var tail []byte
		err := tx.QueryRow(ctx, logOfKernel, s.kernel).Scan(&size, &tail)
		if err != nil && !s.hasNone(err) {
			return err
		}
		e, err := newEdge(size, tail)
		if err != nil {
			return err
		}
		found, err := readHashes(ctx, tx, s.kernel, e, indexes)
		for i, x := range indexes {
			out[i] = found[x]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// AddCheckpoint implements kernel.Store.
func (s *Store) AddCheckpoint(ctx context.Context, size int64, note []byte) error {
	note = slices.Clone(note)
	return s.do(ctx, "add a checkpoint", func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SELECT add_checkpoint($1, $2, $3, $4)", s.writes.held.kernel, s.writes.held.fence, size, note)
		return err
	})
}

// Checkpoints implements kernel.Store.
func (s *Store) Checkpoints(ctx context.Context) (out [][]byte, err error) {
	err = s.read(ctx, "read checkpoints", func(b *pgx.Batch) {
		b.Queue(notesOfKernel, s.kernel).Query(func(rows pgx.Rows) error {
			out, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
			return err
		})
	})
	return out, err
}

// DropCheckpoints implements kernel.Store.
func (s *Store) DropCheckpoints(ctx context.Context, notes [][]byte) error {
	return s.do(ctx, "drop checkpoints", func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SELECT drop_checkpoints($1, $2, $3)", s.writes.held.kernel, s.writes.held.fence, notes)
		return err
	})
}

// LogCompacted implements kernel.Store.
func (s *Store) LogCompacted(ctx context.Context) (out kernel.Compacted, err error) {
	if s.unwritten() {
		return out, nil
	}
	err = s.read(ctx, "read the compaction", func(b *pgx.Batch) {
		b.Queue(compactionOf, s.kernel).QueryRow(func(r pgx.Row) error { return r.Scan(&out.Through, &out.Event, &out.Left) })
	})
	return out, err
}

// LogRemove implements kernel.Store. A partition all of whose events were compacted goes as a whole. What the kernel's
// row says of the compaction has to be what its log records: else events would go that were not given up.
func (s *Store) LogRemove(ctx context.Context, limit int) (left int64, err error) {
	err = s.do(ctx, "remove events", func(ctx context.Context, c *pgx.Conn) error {
		var own single
		err := c.QueryRow(ctx, compactionStored, s.writes.held.kernel).Scan(&own.through, &own.announced)
		if err == nil {
			err = s.doubt(compactedAs(s.writes.set, s.writes.held.kernel, &own))
		}
		if err != nil {
			return err
		}
		return c.QueryRow(ctx, "SELECT remove($1, $2, $3)", s.writes.held.kernel, s.writes.held.fence, limit).Scan(&left)
	})
	return left, err
}

// Restrictions implements kernel.Store. Seq is the newest event of this kernel; what is recorded is what the newest
// change of any kernel has put into its log.
func (s *Store) Restrictions(ctx context.Context) (out kernel.Restrictions, err error) {
	var latched []*latchRow
	err = s.view(ctx, "compare what restricts", func(tx pgx.Tx) error {
		out, latched = kernel.Restrictions{}, nil
		var now shared
		if err := tx.QueryRow(ctx, logOfKernel, s.kernel).Scan(&out.Seq, nil); err != nil && !s.hasNone(err) {
			return err
		}
		if err := now.scan(tx.QueryRow(ctx, readShared)); err != nil {
			return s.doubt(err)
		}
		rows, err := tx.Query(ctx, latchesInOrder)
		if err == nil {
			err = reading(func(r *latchRow) error { latched = append(latched, r); return nil })(rows)
		}
		if err != nil {
			return err
		}
		set, err := loadRows(ctx, tx, &now)
		if err != nil {
			return err
		}
		out.Since, out.Found, out.Tables = min(1, out.Seq), set.Root().String(), set.Node()
		if err = recorded(set, &now); err == nil {
			err = vouch(ctx, tx, &now)
		}
		if root, ok := restrict.RootOf(now.tables); ok {
			out.Recorded = root.String()
		}
		if t := tamperedOf(s.doubt(err)); t != nil {
			out.Tampered, err = s.named(t, set, now.version), nil
		}
		return err
	})
	for _, r := range latched {
		var l kernel.Latch
		if err == nil {
			l, err = r.latch()
		}
		out.Latches = append(out.Latches, l)
	}
	if err == nil && out.Seq == 0 && out.Tampered == nil {
		out.Recorded = ""
	}
	return out, err
}

// named adds which rows differ, where the rows as they should be are remembered.
func (s *Store) named(t *kernel.Tampered, set *restrict.Set, version int64) *kernel.Tampered {
	want, ok := s.sets.at(version)
	if !ok {
		was := s.disbelieved.Load()
		if was == nil || was.version != version {
			return t
		}
		want = was.set
	}
	if changes := restrict.Diff(want, set, kernel.MaxTamperedRows); len(changes) > 0 {
		t.Tables = nil
		for _, ch := range changes {
			t.Add(ch.Table.String(), ch.Key, ch.What)
		}
	}
	return t
}
