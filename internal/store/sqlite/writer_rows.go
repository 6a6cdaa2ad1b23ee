package sqlite

import (
	"github.com/ncruces/go-sqlite3"
)

// unknownVersion is no version that SQLite gives.
const unknownVersion = -1

// dataVersion returns a number that changes when another connection, of whatever
// process, has written to the database since this one last looked.
func dataVersion(c *conn) (version int64, err error) {
	err = c.query("PRAGMA data_version", func(st *sqlite3.Stmt) error {
		version = st.ColumnInt64(0)
		return nil
	})
	return version, err
}

// rows makes w.set what the database of this version holds, inside the write transaction, and returns
// the root that the log records; recorded is false where it records none yet. The error is
// kernel.ErrTampered when the rows are not those that the log records.
func (w *writer) rows(version int64) (now head, err error) {
	if w.alone {
		// What this process has read or written since is all there is: a reader that
		// has put the set there has read all rows after this connection was opened.
		if h, ok := w.store.heads.find(w.edge.row, w.edge.tail); ok && h.adopted {
			w.set = h.set
			return h, nil
		}
	}
	if err := w.store.checkSchema(w.conn); err != nil { // first: tables that are read next may be missing
		return now, err
	}
	rec, err := recordedAt(w.conn, w.edge.size)
	if err != nil {
		return now, err
	}
	set, err := loadRows(w.conn)
	if err != nil {
		return now, err
	}
	if err := w.store.compare(set, &rec); err != nil {
		return now, err
	}
	w.set, w.version = set, version
	return head{set: set, adopted: rec.adopted, seq: rec.seq}, nil
}

// recordRows stores the digests of the tables, which tell later which ones differ, and remembers
// the rows that the newest leaf stands for. It runs at the end of the write transaction. The
// remembered rows are found by the leaf, so they do no harm when the transaction fails.
func (w *writer) recordRows(before head) error {
	if w.edge.size == before.seq {
		return nil // no event, no change
	}
	if !before.adopted || w.set != before.set {
		err := w.conn.exec("UPDATE restrictions SET tables = ?1, since = CASE since WHEN 0 THEN ?2 ELSE since END",
			w.set.Node(), before.seq+1)
		if err != nil {
			return err
		}
	}
	w.store.heads.put(w.edge.row, w.edge.tail, head{set: w.set, adopted: true, seq: w.edge.size})
	return nil
}
