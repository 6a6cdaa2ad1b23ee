package sqlite

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/kernel"
)

// Restrictions implements kernel.Store.
func (s *Store) Restrictions(ctx context.Context) (out kernel.Restrictions, err error) {
	err = s.read(ctx, "compare what restricts", func(c *conn) (err error) {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.exec("ROLLBACK")) }()
		out, err = s.restrictions(c)
		return err
	})
	return out, err
}

// restrictions is Restrictions inside a transaction.
func (s *Store) restrictions(c *conn) (out kernel.Restrictions, err error) {
	if out.Seq, _, err = treeSize(c); err != nil {
		return out, err
	}
	err = c.query("SELECT since FROM restrictions", func(st *sqlite3.Stmt) error {
		out.Since = st.ColumnInt64(0)
		return nil
	})
	if err != nil {
		return out, err
	}
	err = c.query(latchRows+"ORDER BY since_ns, runtime, session", func(st *sqlite3.Stmt) error {
		var l kernel.Latch
		err := json.Unmarshal(st.ColumnBlob(3, nil), &l)
		out.Latches = append(out.Latches, l)
		return err
	})
	if err != nil {
		return out, err
	}
	rows, err := loadRows(c)
	if err != nil {
		return out, err
	}
	out.Found, out.Tables = rows.Root().String(), rows.Node()
	rec, err := recordedAt(c, out.Seq)
	if err == nil && rec.adopted {
		out.Recorded = rec.root.String()
		if err = s.checkSchema(c); err == nil {
			err = s.compare(rows, &rec)
		}
	}
	if errors.As(err, &out.Tampered) {
		err = nil
	}
	return out, err
}
