package forward

import (
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/sqlite"
)

// OpenReadOnly takes a local store that is opened for reading, and shows leases and approvals of PostgreSQL. That is
// connected when it is first asked. Nothing is forwarded, and the kernel's name is not taken. Close closes both.
func OpenReadOnly(local *sqlite.Store, there postgres.Options) *Store {
	o, _ := Options{}.withDefaults() // zero values are right
	there.ReadOnly = true
	s := &Store{Store: local, o: o, there: there, turns: make(chan struct{}, 1), stop: make(chan struct{}),
		ended: make(chan struct{})}
	s.board.state.Kernel = there.Kernel
	close(s.ended)
	return s
}
