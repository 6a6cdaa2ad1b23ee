package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"

	"github.com/belay-hooks/belay/internal/restrict"
)

func number(n int64) string { return strconv.FormatInt(n, 10) }

// sets remembers the rows that restrict at the last versions of the table shared. It is safe for concurrent use.
type sets struct {
	mu     sync.Mutex
	newest int64
	ring   [64]rows
}

// rows are those that restrict at a version.
type rows struct {
	version int64
	set     *restrict.Set // nil: none
}

// slot returns where the rows at a version are remembered. A version that was edited by hand may be negative.
func (s *sets) slot(version int64) *rows { return &s.ring[uint64(version)%uint64(len(s.ring))] }

// at returns the rows at a version; ok is false where they are not remembered.
func (s *sets) at(version int64) (set *restrict.Set, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.slot(version)
	return e.set, e.set != nil && e.version == version
}

// last returns the newest rows that are remembered.
func (s *sets) last() (version int64, set *restrict.Set, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.slot(s.newest)
	return e.version, e.set, e.set != nil && e.version == s.newest
}

func (s *sets) put(version int64, set *restrict.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.slot(version)
	if e.set != nil && e.version > version {
		return
	}
	e.version, e.set = version, set
	s.newest = max(s.newest, version)
}

// forget drops everything: what is next believed is read from the database, with the event that records it.
func (s *sets) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = 0
	clear(s.ring[:])
}

// A delta is what a row is at the next version. gone: it is not there.
type delta struct {
	place
	digest restrict.Digest
	gone   bool
}

// encodeDeltas is what the column changes.rows holds.
func encodeDeltas(list []delta) []byte {
	var out []byte
	for i := range list {
		d := &list[i]
		out = append(out, byte(d.table))
		if d.gone {
			out = append(out, 1)
		} else {
			out = append(append(out, 0), d.digest[:]...)
		}
		out = binary.AppendUvarint(out, uint64(len(d.key)))
		out = append(out, d.key...)
	}
	return out
}

// repairedRows is what the column changes.rows holds where a repair does not know what the rows were before: who
// follows reads all of them anew.
func repairedRows() []byte { return []byte{0xff} }

func errDeltas() error {
	return fmt.Errorf("%w: the row of a version in the table changes is damaged", errGap())
}

// applyDeltas makes the set of the next version.
func applyDeltas(set *restrict.Set, b []byte) (*restrict.Set, error) {
	e := set.Edit()
	for len(b) > 0 {
		d := delta{}
		if len(b) < 2 || b[1] > 1 || int(b[0]) >= len(restrict.Tables()) {
			return nil, errDeltas()
		}
		d.table, d.gone = restrict.Table(b[0]), b[1] == 1
		b = b[2:]
		if !d.gone {
			if len(b) < len(d.digest) {
				return nil, errDeltas()
			}
			copy(d.digest[:], b)
			b = b[len(d.digest):]
		}
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, errDeltas()
		}
		d.key, b = string(bytes.Clone(b[size:size+int(n)])), b[size+int(n):]
		d.apply(e)
	}
	return e.Set(), nil
}

func (d *delta) apply(e *restrict.Editor) {
	if d.gone {
		e.Delete(d.table, d.key)
	} else {
		e.Put(d.table, d.key, d.digest)
	}
}
