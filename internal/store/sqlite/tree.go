package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// The tree is stored as package tlog numbers its hashes, one row each. It is read
// and grown only inside the write transaction, so that processes that share the
// database grow one tree, and an event is in the tree exactly when it is stored.

// treeSize returns the number of leaves.
func treeSize(c *conn) (int64, error) {
	size := int64(-1)
	err := c.query("SELECT size FROM tree_size", func(st *sqlite3.Stmt) error {
		size = st.ColumnInt64(0)
		return nil
	})
	if err == nil && size < 0 {
		err = errors.New("the size of the tree is missing")
	}
	return size, err
}

// readHashes returns a reader of the stored hashes.
func readHashes(c *conn) tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			found := false
			err := c.query("SELECT hash FROM tree WHERE idx=?", func(st *sqlite3.Stmt) error {
				b := st.ColumnRawBlob(0)
				found = len(b) == tlog.HashSize
				copy(out[i][:], b)
				return nil
			}, x)
			if err != nil {
				return nil, err
			}
			if !found {
				return nil, fmt.Errorf("the tree has no hash %d", x)
			}
		}
		return out, nil
	}
}

// grow makes body leaf n of the tree, which has n leaves before. The caller
// writes the new size.
func grow(c *conn, n int64, body []byte) error {
	hashes, err := tlog.StoredHashes(n, body, readHashes(c))
	if err != nil {
		return err
	}
	at := tlog.StoredHashIndex(0, n)
	for i := range hashes {
		if err := c.exec("INSERT INTO tree (idx, hash) VALUES (?, ?)", at+int64(i), hashes[i][:]); err != nil {
			return err
		}
	}
	return nil
}

// plant grows the tree over the events of a database that had none.
func plant(sc *sqlite3.Conn) error {
	c := &conn{Conn: sc, stmts: map[string]*sqlite3.Stmt{}}
	defer func() {
		for _, s := range c.stmts {
			s.Close()
		}
	}()
	var n int64
	err := c.query("SELECT seq, body FROM events ORDER BY seq", func(st *sqlite3.Stmt) error {
		if seq := st.ColumnInt64(0); seq != n+1 {
			return fmt.Errorf("event %d is missing", n+1)
		}
		n++
		return grow(c, n-1, st.ColumnBlob(1, nil))
	})
	if err != nil {
		return err
	}
	return c.exec("UPDATE tree_size SET size = ?", n)
}

// LogSize implements kernel.Store.
func (s *Store) LogSize(ctx context.Context) (size int64, err error) {
	err = s.read(ctx, "read the size of the log", func(c *conn) error {
		size, err = treeSize(c)
		return err
	})
	return size, err
}

// LogLeaves implements kernel.Store.
func (s *Store) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	var out []kernel.LogLeaf
	err := s.read(ctx, "read the log", func(c *conn) error {
		return c.query(`SELECT seq, body, id, type, time_ns, phase, runtime, session, agent, invocation, binding, decision, kind
			FROM events WHERE seq > ? ORDER BY seq LIMIT ?`, func(st *sqlite3.Stmt) error {
			l := kernel.LogLeaf{Seq: st.ColumnInt64(0), Body: st.ColumnBlob(1, nil)}
			l.Copies = copied(st, l.Body)
			out = append(out, l)
			return ctx.Err()
		}, after, limit)
	})
	return out, err
}

// copied reports whether the columns beside the body say what the body says.
func copied(st *sqlite3.Stmt, body []byte) bool {
	var e phases.Event
	if json.Unmarshal(body, &e) != nil || e.Seq != st.ColumnInt64(0) || e.Time.UnixNano() != st.ColumnInt64(4) {
		return false
	}
	for i, v := range map[int]string{2: e.ID, 3: string(e.Type), 5: string(e.Phase), 6: e.Runtime, 7: e.Session, 8: e.Agent,
		9: e.Invocation, 10: e.Binding, 11: e.Decision, 12: string(e.Kind)} {
		if st.ColumnText(i) != v {
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
	r := &request{note: append([]byte{}, note...), noted: size, done: make(chan struct{})}
	if err := s.submit(ctx, r); err != nil {
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
