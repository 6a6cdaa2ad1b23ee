package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/kernel"
)

// maxBorrowed is how many reads go over the writer's connection before one of their own is opened. A process
// that decides one event and ends makes fewer; to open a second connection, to read the schema again and to
// prepare its statements takes it longer than all that it reads.
const maxBorrowed = 64

// borrow runs f on the writer's connection while no other was needed yet and the writer rests; done is false
// when f has to run on one that only reads. f reads little: the writer waits for it. It sees what was
// committed, as on any connection, since the writer is in no transaction.
func (s *Store) borrow(f func(*conn) error) (done bool, err error) {
	w := s.writes
	if w == nil || s.borrowed.Add(1) > maxBorrowed || !w.busy.TryLock() {
		s.borrowed.Store(maxBorrowed) // once there are two, reads are not in the writer's way
		return false, nil
	}
	defer w.busy.Unlock()
	if w.conn == nil || s.era.Load() != 0 {
		return false, nil // the writer opens the database anew, or another one
	}
	err = f(w.conn)
	fine := errors.Is(err, sqlite3.BUSY) || errors.Is(err, kernel.ErrTampered)
	if err != nil && !fine || !w.conn.GetAutocommit() {
		w.conn.close() // as for a reader: whatever went wrong, the next one starts anew
		w.conn = nil
	}
	return true, err
}
