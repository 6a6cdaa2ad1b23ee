package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
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
	fine := false
	defer func() {
		if !fine {
			w.lose()
		}
	}()
	err = f(w.conn)
	// The writer opens the database anew at a price: only what says something about the connection is worth it, and
	// neither a caller who has gone away nor rows that are not what they should be.
	fine = (!fatal(err) || errors.Is(err, sqlite3.BUSY)) && w.conn.GetAutocommit()
	return true, err
}
