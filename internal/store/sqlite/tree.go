package sqlite

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
)

// The tree is stored as package tlog numbers its hashes, which is the order in
// which they come to be, rowHashes of them in a row: a commit writes the last row and
// those that it adds. It is read and grown only inside the write transaction, so
// that processes that share the database grow one tree, and an event is in the tree
// exactly when it is stored.

const (
	rowHashes = 32
	rowBytes  = rowHashes * tlog.HashSize
)

// tilesSchema replaces the table of single hashes, and the row that held the
// size, which the number of hashes tells as well.
const tilesSchema = `CREATE TABLE tiles (
		n      INTEGER PRIMARY KEY,
		hashes BLOB NOT NULL
	) STRICT;`

// edge is the right edge of the tree: all that growing it needs. Only the last
// row is compared with the database; another writer that grew the tree has
// changed it.
type edge struct {
	row   int64       // number of the last row
	tail  []byte      // its hashes, fewer than rowHashes or exactly so many
	size  int64       // leaves
	roots []tlog.Hash // of the perfect subtrees that still grow, by level; the others are not valid

	full  [][]byte // rows that were filled and not written yet; they stand before row
	dirty bool
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", kernel.ErrDamaged, fmt.Sprintf(format, args...))
}

// lastRow returns the last row; a tree without leaves has row 0, empty.
func lastRow(c *conn) (row int64, tail []byte, err error) {
	err = c.query("SELECT n, hashes FROM tiles ORDER BY n DESC LIMIT 1", func(st *sqlite3.Stmt) error {
		row, tail = st.ColumnInt64(0), st.ColumnBlob(1, nil)
		if len(tail) == 0 || len(tail)%tlog.HashSize != 0 || len(tail) > rowBytes {
			return damaged("row %d", row)
		}
		return nil
	})
	return row, tail, err
}

// treeSize returns the number of leaves, and the last row.
func treeSize(c *conn) (size int64, last edge, err error) {
	if last.row, last.tail, err = lastRow(c); err != nil {
		return 0, last, err
	}
	size, err = sizeOf(last.row*rowHashes + int64(len(last.tail)/tlog.HashSize))
	last.size = size
	return size, last, err
}

// sizeOf returns how many leaves a tree of so many hashes has.
func sizeOf(hashes int64) (int64, error) {
	low, high := hashes/2, hashes // n leaves have between n and 2n hashes
	for low < high {
		mid := low + (high-low)/2
		if tlog.StoredHashCount(mid) < hashes {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if tlog.StoredHashCount(low) != hashes {
		return 0, damaged("no tree has %d hashes", hashes)
	}
	return low, nil
}

// current returns e if it is the edge of the stored tree, else one that is. It
// is called inside the write transaction.
func (e *edge) current(c *conn) (*edge, error) {
	row, tail, err := lastRow(c)
	if err != nil {
		return nil, err
	}
	if e != nil && e.row == row && bytes.Equal(e.tail, tail) {
		return e, nil
	}
	_, found, err := treeSize(c)
	if err != nil {
		return nil, err
	}
	found.roots = make([]tlog.Hash, bits.Len64(uint64(found.size)))
	var indexes []int64
	for level := range found.roots {
		if found.size>>level&1 == 1 {
			indexes = append(indexes, tlog.StoredHashIndex(level, found.size>>level-1))
		}
	}
	hashes, err := readHashes(c)(indexes)
	if err != nil {
		return nil, err
	}
	for i, x := range indexes {
		level, _ := tlog.SplitStoredHashIndex(x)
		found.roots[level] = hashes[i]
	}
	return &found, nil
}

// clone returns a copy that grows apart.
func (e *edge) clone() *edge {
	out := *e
	out.tail = bytes.Clone(e.tail)
	out.roots = append([]tlog.Hash(nil), e.roots...)
	out.full = append([][]byte(nil), e.full...)
	return &out
}

// add makes body the next leaf.
func (e *edge) add(body []byte) error {
	hashes, err := tlog.StoredHashes(e.size, body, tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			level, _ := tlog.SplitStoredHashIndex(x)
			if level >= len(e.roots) || x != tlog.StoredHashIndex(level, e.size>>level-1) {
				return nil, fmt.Errorf("hash %d is not at the edge of the tree", x)
			}
			out[i] = e.roots[level]
		}
		return out, nil
	}))
	if err != nil {
		return err
	}
	for _, h := range hashes {
		if len(e.tail) == rowBytes {
			e.full = append(e.full, e.tail)
			e.row, e.tail = e.row+1, make([]byte, 0, rowBytes)
		}
		e.tail = append(e.tail, h[:]...)
	}
	// The last hash is the root of the subtree that takes the place of the smaller ones.
	level := len(hashes) - 1
	if level == len(e.roots) {
		e.roots = append(e.roots, tlog.Hash{})
	}
	e.roots[level] = hashes[level]
	e.size++
	e.dirty = true
	return nil
}

// write stores what add has added.
func (e *edge) write(c *conn) error {
	if !e.dirty {
		return nil
	}
	for i, b := range append(e.full, e.tail) {
		err := c.exec("INSERT INTO tiles (n, hashes) VALUES (?, ?) ON CONFLICT DO UPDATE SET hashes = excluded.hashes",
			e.row-int64(len(e.full))+int64(i), b)
		if err != nil {
			return err
		}
	}
	e.full, e.dirty = nil, false
	return nil
}

// readHashes returns a reader of the stored hashes.
func readHashes(c *conn) tlog.HashReaderFunc {
	return func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		var have []byte
		for row, i := int64(-1), 0; i < len(indexes); i++ {
			x := indexes[i]
			if x < 0 {
				return nil, damaged("there is no hash %d", x)
			}
			if x/rowHashes != row {
				row, have = x/rowHashes, have[:0]
				err := c.query("SELECT hashes FROM tiles WHERE n=?", func(st *sqlite3.Stmt) error {
					have = st.ColumnBlob(0, have)
					return nil
				}, row)
				if err != nil {
					return nil, err
				}
			}
			at := int(x % rowHashes * tlog.HashSize)
			if len(have) < at+tlog.HashSize {
				return nil, damaged("there is no hash %d", x)
			}
			copy(out[i][:], have[at:])
		}
		return out, nil
	}
}

// plant makes the tiles of a database of an earlier version: of one with a tree,
// the same tree, sound or not; of one without, a tree over the events that it holds.
func plant(sc *sqlite3.Conn, hadTree bool) error {
	c := &conn{Conn: sc, stmts: map[string]*sqlite3.Stmt{}}
	defer func() {
		for _, s := range c.stmts {
			s.Close()
		}
	}()
	if hadTree {
		return repot(c)
	}
	e := &edge{}
	err := c.query("SELECT seq, body FROM events ORDER BY seq", func(st *sqlite3.Stmt) error {
		if seq := st.ColumnInt64(0); seq != e.size+1 {
			return fmt.Errorf("event %d is missing", e.size+1)
		}
		if err := e.add(st.ColumnRawBlob(1)); err != nil || len(e.full) < 64 {
			return err
		}
		return e.write(c)
	})
	if err != nil {
		return err
	}
	return e.write(c)
}

// repot copies single hashes into rows.
func repot(c *conn) error {
	var row, next int64
	var b []byte
	put := func() error {
		err := c.exec("INSERT INTO tiles (n, hashes) VALUES (?, ?)", row, b)
		row, b = row+1, b[:0]
		return err
	}
	err := c.query("SELECT idx, hash FROM tree ORDER BY idx", func(st *sqlite3.Stmt) error {
		h := st.ColumnRawBlob(1)
		if st.ColumnInt64(0) != next || len(h) != tlog.HashSize {
			return damaged("hash %d", next)
		}
		next++
		if b = append(b, h...); len(b) < rowBytes {
			return nil
		}
		return put()
	})
	if err == nil && len(b) > 0 {
		err = put()
	}
	if err != nil {
		return err
	}
	size := int64(-1)
	if err := c.query("SELECT size FROM tree_size", func(st *sqlite3.Stmt) error {
		size = st.ColumnInt64(0)
		return nil
	}); err != nil {
		return err
	}
	if size < 0 || tlog.StoredHashCount(size) != next {
		return damaged("its size is not that of its hashes")
	}
	return nil
}
