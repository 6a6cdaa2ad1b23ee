package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
)

// compactionSchema is one row: the number of the last compacted event, and of the event that announces it.
const compactionSchema = `CREATE TABLE compaction (
		through INTEGER NOT NULL,
		event   INTEGER NOT NULL
	) STRICT;
	INSERT INTO compaction VALUES (0, 0);`

func compacted(c *conn) (out kernel.Compacted, err error) {
	// Events are removed from the first on, so that the first tells how many are left.
	err = c.query("SELECT through, event, (SELECT min(seq) FROM events) FROM compaction", func(st *sqlite3.Stmt) error {
		out = kernel.Compacted{Through: st.ColumnInt64(0), Event: st.ColumnInt64(1)}
		if st.ColumnType(2) != sqlite3.NULL {
			out.Left = max(0, out.Through-st.ColumnInt64(2)+1)
		}
		return nil
	})
	return out, err
}

// writeCompaction gives up events; size is the number of events before the batch's.
func writeCompaction(c *conn, b *kernel.Batch, size int64) error {
	now, err := compacted(c)
	if err != nil {
		return err
	}
	if b.Compact <= now.Through || b.Compact > size || len(b.Events) == 0 {
		return conflict("compaction")
	}
	c.touch(restrict.Compaction)
	return c.exec("UPDATE compaction SET through=?, event=?", b.Compact, size+1)
}

// LogCompacted implements kernel.Store.
func (s *Store) LogCompacted(ctx context.Context) (out kernel.Compacted, err error) {
	err = s.read(ctx, "read the compaction", func(c *conn) (err error) {
		out, err = compacted(c)
		return err
	})
	return out, err
}

// LogRemove implements kernel.Store.
func (s *Store) LogRemove(ctx context.Context, limit int) (left int64, err error) {
	err = s.doOnRows(ctx, "remove events", func(c *conn) error {
		now, err := compacted(c)
		if err != nil || now.Left == 0 {
			return err
		}
		first := now.Through - now.Left + 1
		last := min(now.Through, first+int64(limit)-1)
		if err := c.exec("DELETE FROM events WHERE seq <= ?", last); err != nil {
			return err
		}
		if err := trim(c, last+1); err != nil {
			return err
		}
		if err := forget(c, last); err != nil {
			return err
		}
		left = now.Through - last
		return nil
	})
	return left, err
}

// DropCheckpoints implements kernel.Store.
func (s *Store) DropCheckpoints(ctx context.Context, notes [][]byte) error {
	return s.do(ctx, "drop checkpoints", func(c *conn) error {
		for _, n := range notes {
			if err := c.exec("DELETE FROM checkpoints WHERE note=?", n); err != nil {
				return err
			}
		}
		return nil
	})
}
