package sqlite

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// What a forwarder of the log reads.

// Bodies returns leaves of the log, from the one behind after on without a gap, at most limit of them and about so many
// bytes.
func (s *Store) Bodies(ctx context.Context, after int64, limit, bytes int) (out [][]byte, err error) {
	err = s.readApart(ctx, "read the log", func(c *conn) error {
		out = nil
		from := &leaves{conn: c}
		total := 0
		return c.query("SELECT seq, body FROM events WHERE seq > ? ORDER BY seq LIMIT ?", func(st *sqlite3.Stmt) error {
			next := after + int64(len(out)) + 1
			if total >= bytes {
				return nil
			}
			if seq := st.ColumnInt64(0); seq != next {
				return fmt.Errorf("event %d is not in the log any more", next)
			}
			body, err := from.leaf(nil, next, st.ColumnRawBlob(1))
			out, total = append(out, body), total+len(body)
			return err
		}, after, limit)
	})
	return out, err
}

// StoredBytes returns how many bytes the events behind after, up to last, take here.
func (s *Store) StoredBytes(ctx context.Context, after, last int64) (n int64, err error) {
	err = s.readApart(ctx, "measure the log", func(c *conn) error {
		return c.query("SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE seq > ? AND seq <= ?",
			func(st *sqlite3.Stmt) error {
				n = st.ColumnInt64(0)
				return nil
			}, after, last)
	})
	return n, err
}

// Head is a signed checkpoint.
type Head struct {
	ID   int64 // grows
	Size int64
	Note []byte
}

// Heads returns the checkpoints with a larger id than after, oldest first, at most limit of them.
func (s *Store) Heads(ctx context.Context, after int64, limit int) (out []Head, err error) {
	err = s.read(ctx, "read checkpoints", func(c *conn) error {
		out = nil
		return c.query("SELECT id, size, note FROM checkpoints WHERE id > ? ORDER BY id LIMIT ?",
			func(st *sqlite3.Stmt) error {
				out = append(out, Head{ID: st.ColumnInt64(0), Size: st.ColumnInt64(1), Note: st.ColumnBlob(2, nil)})
				return nil
			}, after, limit)
	})
	return out, err
}

// HeadID returns the id of a checkpoint; 0: there is none like it.
func (s *Store) HeadID(ctx context.Context, size int64, note []byte) (id int64, err error) {
	err = s.readApart(ctx, "read checkpoints", func(c *conn) error {
		id = 0
		return c.query("SELECT id FROM checkpoints WHERE size = ? AND note = ? ORDER BY id DESC LIMIT 1",
			func(st *sqlite3.Stmt) error {
				id = st.ColumnInt64(0)
				return nil
			}, size, note)
	})
	return id, err
}

// Forwarded returns how many events were forwarded when SetForwarded was last called. It is a hint: the store that gets
// them knows it.
func (s *Store) Forwarded(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, "read what was forwarded", func(c *conn) error {
		n = 0
		return c.query("SELECT forwarded FROM forwarding", func(st *sqlite3.Stmt) error {
			n = st.ColumnInt64(0)
			return nil
		})
	})
	return n, err
}

// SetForwarded notes how many events were forwarded.
func (s *Store) SetForwarded(ctx context.Context, n int64) error {
	return s.do(ctx, "note what was forwarded", func(c *conn) error {
		return c.exec(`INSERT INTO forwarding (id, forwarded, first, batch) VALUES (1, ?, 0, x'')
			ON CONFLICT DO UPDATE SET forwarded = excluded.forwarded`, n)
	})
}
