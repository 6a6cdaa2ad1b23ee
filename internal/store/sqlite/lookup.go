package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/phases"
)

// Events are found by blocks; see package lookup. Blocks are made by indexer.go.

// lookupSchema: a term is a digest of a member and its value, so that rows are narrow and no
// name outlives its events. first_ns and last_ns are the earliest and the latest time in
// the block.
const lookupSchema = `CREATE TABLE lookup (
		block  INTEGER NOT NULL,
		term   INTEGER NOT NULL,
		events BLOB NOT NULL,
		PRIMARY KEY (block, term)
	) STRICT, WITHOUT ROWID;
	CREATE TABLE lookup_blocks (
		block    INTEGER PRIMARY KEY,
		first_ns INTEGER NOT NULL,
		last_ns  INTEGER NOT NULL
	) STRICT;`

// indexedThrough returns the number of the last event that a block holds; 0: there is none.
func indexedThrough(c *conn) (through int64, err error) {
	err = c.query("SELECT coalesce(max(block)+1, 0) FROM lookup_blocks", func(st *sqlite3.Stmt) error {
		through = st.ColumnInt64(0) * lookup.BlockEvents
		return nil
	})
	return through, err
}

// loadBlock reads a block; nil: there is none.
func loadBlock(c *conn, number int64) (b *lookup.Block, err error) {
	err = c.query("SELECT first_ns, last_ns FROM lookup_blocks WHERE block=?", func(st *sqlite3.Stmt) error {
		b = lookup.NewBlock(number)
		b.First, b.Last = st.ColumnInt64(0), st.ColumnInt64(1)
		return nil
	}, number)
	if err != nil || b == nil {
		return nil, err
	}
	err = c.query("SELECT term, events FROM lookup WHERE block=?", func(st *sqlite3.Stmt) error {
		b.Load(st.ColumnInt64(0), st.ColumnRawBlob(1))
		return nil
	}, number)
	return b, err
}

// A lookupCheck compares events with the blocks that they are in.
type lookupCheck struct {
	through int64
	block   *lookup.Block
	number  int64 // of block, which is nil when there is none
}

// holds reports whether the lookup says of the event what the event says.
func (l *lookupCheck) holds(c *conn, e *phases.Event) (ok bool, err error) {
	if e.Seq > l.through {
		return true, nil // it is searched without the lookup
	}
	if n, _ := lookup.BlockOf(e.Seq); n != l.number {
		l.number = n
		if l.block, err = loadBlock(c, n); err != nil {
			return false, err
		}
	}
	return l.block != nil && l.block.Holds(e), nil
}

// newCheck returns a check that has read no block yet.
func newCheck(c *conn) (*lookupCheck, error) {
	through, err := indexedThrough(c)
	return &lookupCheck{through: through, number: -1}, err
}

// forget removes the blocks whose events are all gone, up to event last.
func forget(c *conn, last int64) error {
	if last < lookup.BlockEvents {
		return nil
	}
	for _, table := range []string{"lookup", "lookup_blocks"} {
		if err := c.exec("DELETE FROM "+table+" WHERE block < ?", last/lookup.BlockEvents); err != nil {
			return err
		}
	}
	return nil
}
