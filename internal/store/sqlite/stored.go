package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/eventpack"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
)

// The column body holds the leaf of an event in one of three forms, which its first byte tells.
// Versions before schema 12 know the first only; their rows stay as they are. In the other two
// the texts of a batch stand together in the row of its last event, so that what they have in
// common is stored once. Compaction removes the oldest events first: a pack never goes before
// an event that needs it.
const (
	plainForm = '{' // the leaf as it is
	packForm  = 1   // the number of the event, the digest of the rows that restrict, and a pack whose last text is its own
	partForm  = 2   // how many rows further on the pack stands, and the number of the event
)

// packsSchema changes nothing: rows in the forms above are for versions that know them.
const packsSchema = `SELECT 1;`

// writePack appends the form of the event that ends a pack.
func writePack(out []byte, seq int64, stamp *restrict.Digest, pack []byte) []byte {
	out = binary.AppendUvarint(append(out, packForm), uint64(seq))
	if stamp == nil {
		out = append(out, 0)
	} else {
		out = append(append(out, byte(len(stamp))), stamp[:]...)
	}
	return append(out, pack...)
}

// writePart appends the form of an event whose pack stands so many rows further on.
func writePart(out []byte, seq int64, behind int) []byte {
	return binary.AppendUvarint(append(out, partForm, byte(behind)), uint64(seq))
}

// A packRow is the row of an event that ends a pack.
type packRow struct {
	seq   int64 // as the row says itself
	stamp *restrict.Digest
	pack  []byte
}

func parsePack(column []byte) (p packRow, ok bool) {
	if len(column) == 0 || column[0] != packForm {
		return p, false
	}
	if p.seq, column, ok = ownNumber(column[1:]); !ok || len(column) == 0 {
		return p, false
	}
	length := int(column[0])
	column = column[1:]
	if length != 0 {
		p.stamp = new(restrict.Digest)
		if length != len(p.stamp) || len(column) < length {
			return p, false
		}
		copy(p.stamp[:], column)
	}
	p.pack = column[length:]
	return p, true
}

func parsePart(column []byte) (behind int, seq int64, ok bool) {
	if len(column) < 2 || column[0] != partForm || column[1] == 0 || column[1] >= eventpack.MaxTexts {
		return 0, 0, false
	}
	seq, rest, ok := ownNumber(column[2:])
	return int(column[1]), seq, ok && len(rest) == 0
}

func ownNumber(b []byte) (seq int64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 || v == 0 || v > 1<<62 {
		return 0, nil, false
	}
	return int64(v), b[n:], true
}

// errUnreadable is the class of errors of a row that holds no leaf.
var errUnreadable = errors.New("an event cannot be read")

func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUnreadable, fmt.Sprintf(format, args...))
}

// leaves reads leaves from the columns of rows, of one connection and in one read transaction.
type leaves struct {
	*conn
	holder int64 // the row of the pack that is open; 0: none is
	row    packRow
	texts  [][]byte
	last   []byte // leaf; for those who need one at a time
}

// leaf returns the leaf of the row, from its column, at the beginning of out. The error is errUnreadable where
// the column is none of the forms, or its pack is missing or cannot be opened. The column may be a
// raw one: it is not used any more when another statement runs.
func (l *leaves) leaf(out []byte, seq int64, column []byte) ([]byte, error) {
	if len(column) == 0 {
		return nil, unreadable("event %d is empty", seq)
	}
	switch column[0] {
	case packForm:
		if err := l.open(seq, column); err != nil {
			return nil, err
		}
		return leaf.Numbered(out, l.texts[len(l.texts)-1], l.row.seq, l.row.stamp), nil
	case partForm:
		behind, own, ok := parsePart(column)
		if !ok {
			return nil, unreadable("event %d", seq)
		}
		if err := l.find(seq + int64(behind)); err != nil {
			return nil, err
		}
		if behind >= len(l.texts) {
			return nil, unreadable("event %d is not in its pack", seq)
		}
		return leaf.Numbered(out, l.texts[len(l.texts)-1-behind], own, nil), nil
	}
	return append(out[:0], column...), nil
}

// packBody is oneBody as another statement: that one may be running.
const packBody = "SELECT body AS pack FROM events WHERE seq=?"

// find opens the pack in the row of an event.
func (l *leaves) find(holder int64) error {
	if l.holder == holder {
		return nil
	}
	there := false
	err := l.query(packBody, func(st *sqlite3.Stmt) error {
		there = true
		return l.open(holder, st.ColumnRawBlob(0))
	}, holder)
	if err == nil && !there {
		err = unreadable("the pack of event %d is missing", holder)
	}
	return err
}

func (l *leaves) open(holder int64, column []byte) error {
	if l.holder == holder {
		return nil
	}
	l.holder = 0
	row, ok := parsePack(column)
	if !ok {
		return unreadable("event %d has no pack", holder)
	}
	texts, err := l.packs.Open(row.pack)
	if err != nil {
		return unreadable("event %d: %v", holder, err)
	}
	for _, t := range texts {
		if !bytes.HasPrefix(t, []byte(leaf.Unnumbered)) {
			return unreadable("a text of the pack of event %d", holder)
		}
	}
	row.pack = nil
	l.holder, l.row, l.texts = holder, row, texts
	return nil
}

// trim removes what stands before event first in the pack that first is in, if it is in one.
// A pack that cannot be opened holds nothing that can be read, and stays.
func trim(c *conn, first int64) error {
	l := &leaves{conn: c}
	holder := int64(0)
	err := c.query(oneBody, func(st *sqlite3.Stmt) error {
		if behind, _, ok := parsePart(st.ColumnRawBlob(0)); ok {
			holder = first + int64(behind)
		} else if _, ok := parsePack(st.ColumnRawBlob(0)); ok {
			holder = first
		}
		return nil
	}, first)
	if err != nil || holder == 0 {
		return err
	}
	if err := l.find(holder); err != nil {
		if errors.Is(err, errUnreadable) {
			return nil
		}
		return err
	}
	keep := int(holder - first + 1)
	if keep >= len(l.texts) {
		return nil
	}
	var text []byte
	var ends []int
	for _, t := range l.texts[len(l.texts)-keep:] {
		text = append(text, t...)
		ends = append(ends, len(text))
	}
	pack, err := c.packs.Append(nil, text, ends)
	if err != nil {
		return err
	}
	return c.exec("UPDATE events SET body=? WHERE seq=?", writePack(nil, l.row.seq, l.row.stamp, pack), holder)
}
