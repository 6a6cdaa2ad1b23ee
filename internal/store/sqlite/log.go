package sqlite

import (
	"context"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// LogSize implements kernel.Store.
func (s *Store) LogSize(ctx context.Context) (size int64, err error) {
	err = s.read(ctx, "read the size of the log", func(c *conn) error {
		size, _, err = treeSize(c)
		return err
	})
	return size, err
}

// LogLeaves implements kernel.Store.
func (s *Store) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	var out []kernel.LogLeaf
	err := s.readApart(ctx, "read the log", func(c *conn) error {
		check, err := newCheck(c)
		if err != nil {
			return err
		}
		from := &leaves{conn: c}
		e, before := new(phases.Event), new(phases.Event)
		return c.query(
			`SELECT seq, body, id, type, time_ns, phase, runtime, session, agent, invocation, binding, decision, kind
			FROM events WHERE seq > ? ORDER BY seq LIMIT ?`, func(st *sqlite3.Stmt) error {
				l := kernel.LogLeaf{Seq: st.ColumnInt64(0)}
				if l.Body, err = from.leaf(nil, l.Seq, st.ColumnRawBlob(1)); errors.Is(err, errUnreadable) {
					l.Body = st.ColumnBlob(1, nil) // which is not what the tree says
				} else if err != nil {
					return err
				}
				if copied(st, l.Body, e, before) {
					if l.Copies, err = check.holds(c, e); err != nil {
						return err
					}
				}
				e, before = before, e
				out = append(out, l)
				return ctx.Err()
			}, after, limit)
	})
	return out, err
}

// copied decodes the head of the body, which comes after that of another event, and reports whether the columns beside
// it say what it says.
func copied(st *sqlite3.Stmt, body []byte, e, before *phases.Event) bool {
	if eventbytes.HeadAfter(body, e, before) != nil || e.Seq != st.ColumnInt64(0) ||
		e.Time.UnixNano() != st.ColumnInt64(4) {
		return false
	}
	for i, v := range [...]string{2: e.ID, 3: string(e.Type), 5: string(e.Phase), 6: e.Runtime, 7: e.Session,
		8: e.Agent, 9: e.Invocation, 10: e.Binding, 11: e.Decision, 12: string(e.Kind)} {
		if i >= 2 && i != 4 && string(st.ColumnRawText(i)) != v {
			return false
		}
	}
	return true
}

// LogHashes implements kernel.Store.
func (s *Store) LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	out := make([][32]byte, len(indexes))
	err := s.read(ctx, "read the tree", func(c *conn) error {
		found, err := readHashes(c)(indexes)
		for i, h := range found {
			out[i] = h
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
	note = append([]byte{}, note...)
	// The mark becomes durable as well, so that a power cut sets it back no further.
	err := s.submit(ctx, &request{durable: true, work: func(c *conn) error {
		return c.exec("INSERT INTO checkpoints (size, note) VALUES (?, ?)", size, note)
	}})
	if err != nil {
		return unavailable("add a checkpoint", err)
	}
	return nil
}

// Checkpoints implements kernel.Store.
func (s *Store) Checkpoints(ctx context.Context) ([][]byte, error) {
	var out [][]byte
	err := s.read(ctx, "read checkpoints", func(c *conn) error {
		return c.query("SELECT note FROM checkpoints ORDER BY id", func(st *sqlite3.Stmt) error {
			out = append(out, st.ColumnBlob(0, nil))
			return ctx.Err()
		})
	})
	return out, err
}
