package forward

import (
	"sync"
	"time"
)

// State is how a forwarding kernel stands, for people.
type State struct {
	Kernel    string
	Forwarded int64     // events that PostgreSQL has, as far as known
	Waiting   int64     // events that it lacks
	Bytes     int64     // that they take here, about
	Keep      int64     // so many may wait
	Full      bool      // more do: nothing is committed
	Away      time.Time // since when PostgreSQL cannot be used; zero: it can
	Why       string    // what it said
	Forked    string    // why the log there is not a beginning of the one here; forwarding has ended
	Lost      string    // what PostgreSQL has lost of what it had
	Last      time.Time // when this process has forwarded an event; zero: it has forwarded none
	Unsettled int64     // the first event of a batch that PostgreSQL may have; 0: none
}

// Red reports whether a person has to do something.
func (s *State) Red() bool { return s.Full || s.Forked != "" || s.Lost != "" }

// board is what is known. It is safe for concurrent use.
type board struct {
	mu    sync.Mutex
	state State
	err   error // why PostgreSQL cannot be used; nil: it can
}

func (b *board) read() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

func (b *board) change(f func(*State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.state)
}

// open says that PostgreSQL cannot be used.
func (b *board) open(err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil || b.state.Away.IsZero() {
		b.state.Away = now
	}
	b.err, b.state.Why = err, err.Error()
}

func (b *board) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.state.Why, b.state.Away, b.state.Lost = nil, "", time.Time{}, ""
}

// trouble returns why PostgreSQL cannot be used, or nil.
func (b *board) trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}
