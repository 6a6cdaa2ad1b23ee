package sqlite

import (
	"sync"

	"github.com/belay-hooks/belay/internal/restrict"
)

// Most invocations ask for a latch and for a run of which there is none. The writer knows all
// rows that restrict, and SQLite tells its connection at little cost whether another connection
// has written since. Nothing that such a connection could have added, or have taken away, is
// overlooked then.
//
// While the writer is in a transaction, which it is nearly always when many commit at once, its
// connection cannot be asked. What was committed before the transaction is what is committed
// until it ends, and a connection that does nothing else tells when it has ended.

// watch is that connection. The zero value knows nothing.
type watch struct {
	mu      sync.Mutex // of all below; held for no longer than SQLite takes to tell a version
	opening bool
	closed  bool
	conn    *conn // nil until the writer was busy once
	asked   bool  // since the writer last began a transaction, while it was busy
	set     *restrict.Set
	version int64 // of conn, of whose database set is all rows that restrict; see dataVersion
}

// absent reports that the table has no row with any of the keys. False says nothing: another
// connection may have written, or rows may not be those that the log records.
func (s *Store) absent(t restrict.Table, keys ...string) bool {
	set, ok := s.committed()
	if !ok {
		return false
	}
	for _, k := range keys {
		if _, ok := set.Get(t, k); ok {
			return false
		}
	}
	return true
}

// committed returns the rows that restrict, as the last commit of any process left them; ok is
// false when that is not known.
func (s *Store) committed() (set *restrict.Set, ok bool) {
	w := s.writes
	if w == nil || s.unproven {
		return nil, false
	}
	k := &s.watch
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.busy.TryLock() {
		defer w.busy.Unlock()
		return w.current()
	}
	if k.asked = true; k.conn == nil {
		s.openWatch()
		return nil, false
	}
	if k.version == unknownVersion || k.conn.era != s.era.Load() {
		return nil, false
	}
	version, err := dataVersion(k.conn)
	return k.set, err == nil && version == k.version
}

// current returns the rows that restrict. Preconditions: w.busy is held, outside of a transaction.
func (w *writer) current() (set *restrict.Set, ok bool) {
	if w.conn == nil || w.edge == nil || w.wrong != nil {
		return nil, false
	}
	version, err := dataVersion(w.conn)
	return w.set, err == nil && version == w.version
}

// openWatch opens the connection, which takes too long to keep the writer waiting. Preconditions:
// mu is held; it is not while the connection is opened.
func (s *Store) openWatch() {
	k := &s.watch
	if k.opening || k.closed {
		return
	}
	k.opening = true
	era := s.era.Load()
	k.mu.Unlock()
	c, err := openConn(s.path, s.vfs, true, s.immutable, s.packs)
	k.mu.Lock()
	if k.opening = false; err != nil {
		return // the next one tries again
	}
	if k.closed {
		c.close()
		return
	}
	c.era = era
	k.conn, k.version = c, unknownVersion
}

// keep lets readers know the rows while the writer is busy. set is what is committed. Preconditions:
// a write transaction has begun and has changed no row.
func (k *watch) keep(set *restrict.Set, era int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set, k.version = nil, unknownVersion
	if k.conn != nil && k.conn.era != era {
		k.drop() // of a file that is the database no more
	}
	if k.conn == nil || !k.asked {
		return
	}
	k.asked = false
	version, err := dataVersion(k.conn)
	if err != nil {
		k.drop()
		return
	}
	k.set, k.version = set, version
}

// forget has readers look for themselves until the next transaction.
func (k *watch) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set, k.version = nil, unknownVersion
}

func (k *watch) drop() {
	k.conn.close()
	k.conn = nil
}

func (k *watch) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed = true; k.conn != nil {
		k.drop()
	}
}
