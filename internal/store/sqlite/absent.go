package sqlite

import (
	"github.com/belay-hooks/belay/internal/restrict"
)

// Most invocations ask for a latch and for a run of which there is none. The writer knows all
// rows that restrict, and SQLite tells its connection at little cost whether another connection
// has written since. Nothing that such a connection could have added, or have taken away, is
// overlooked then.

// absent reports that the table has no row with any of the keys. False says nothing: the writer
// may be busy, another connection may have written, or rows may not be those that the log records.
func (s *Store) absent(t restrict.Table, keys ...string) bool {
	w := s.writes
	if w == nil || !w.busy.TryLock() {
		return false
	}
	defer w.busy.Unlock()
	if w.conn == nil || w.edge == nil || w.wrong != nil || s.unproven {
		return false
	}
	for _, k := range keys {
		if _, ok := w.set.Get(t, k); ok {
			return false
		}
	}
	version, err := dataVersion(w.conn)
	return err == nil && version == w.version
}
