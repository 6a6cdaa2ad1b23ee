package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/files"
)

// The files that say how to connect are read again while the store is open, so that a password, a host or a root
// certificate can be changed without a new start. What they say now is tried first. Only when it leads to a database
// that this program can work with, it is taken into use, and older connections are let go of.
const (
	accessLook  = 5 * time.Second  // between two looks at the files
	accessRetry = 30 * time.Second // between two tries of what did not work
)

// access is how connections are made. It is safe for concurrent use.
type access struct {
	o Options // as they were given

	mu      sync.Mutex
	config  *pgx.ConnConfig
	says    string // what config was made of
	number  int64  // of config: it grows with each other one
	changed chan struct{}

	problem error  // why the files as they are now are not used; nil: they are
	bad     string // what they said when that was found out
	tried   time.Time
}

// newAccess reads the files for the first time.
func newAccess(o Options) (*access, Options, error) {
	a := &access{o: o, changed: make(chan struct{})}
	says, full, config, err := a.read()
	a.says, a.config = says, config
	return a, full, err
}

// read returns what the files say.
func (a *access) read() (says string, o Options, c *pgx.ConnConfig, err error) {
	var pem []byte
	if a.o.RootCert != "" { // before resolve reads it: what changes in between is noticed at the next look
		pem, err = files.Read(a.o.RootCert, maxRootsBytes)
		if err != nil {
			return "", o, nil, fmt.Errorf("root_cert: %w", err)
		}
	}
	o, c, err = a.o.resolve()
	return o.DSN + "\x00" + string(pem), o, c, err
}

// current returns how to connect, and its number.
func (a *access) current() (*pgx.ConnConfig, int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config.Copy(), a.number
}

// next returns a channel that is closed when something else is taken into use.
func (a *access) next() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// refresh looks at the files, and reports whether something else is in use now. With always, what did not work a moment
// ago is tried again.
func (a *access) refresh(always bool, try func(*pgx.ConnConfig) error) bool {
	says, _, config, err := a.read()
	a.mu.Lock()
	same, again := err == nil && says == a.says, says == a.bad && time.Since(a.tried) < accessRetry
	switch {
	case same:
		a.problem, a.bad = nil, ""
	case err != nil:
		a.problem = err
	}
	a.mu.Unlock()
	if same || err != nil || again && !always {
		return false
	}
	err = try(config)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.problem, a.bad, a.tried = err, says, time.Now()
		return false
	}
	a.config, a.says, a.problem, a.bad = config, says, nil, ""
	a.number++
	close(a.changed)
	a.changed = make(chan struct{})
	return true
}

func (s *Store) accessNumber() int64 {
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	return s.access.number
}

// Warning says for operators what is not as it should be while the store works; "": nothing is.
func (s *Store) Warning() string {
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	if s.access.problem == nil {
		return ""
	}
	return fmt.Sprintf("the connections of before are used, since what the files of store.postgres say now does not work: %v",
		s.access.problem)
}

// watchAccess looks at the files until the store is closed.
func (s *Store) watchAccess() {
	tick := time.NewTicker(s.o.accessLook)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.refreshAccess(false)
		}
	}
}

// refreshAccess takes what the files say now into use, if it works, and lets go of older connections.
func (s *Store) refreshAccess(always bool) {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.ConnectTimeout+s.o.StatementTimeout)
	defer cancel()
	if !s.access.refresh(always, func(c *pgx.ConnConfig) error { return s.check(ctx, c) }) {
		return
	}
	if s.pool != nil {
		s.pool.Reset()
	}
}

// letGo has the writer leave a connection that was made as it is no more made.
func (s *Store) letGo() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.access.next():
			ctx, cancel := context.WithTimeout(context.Background(), s.o.StatementTimeout)
			_ = s.submit(ctx, &request{work: func(context.Context, *pgx.Conn) error { return nil }}) // see ready
			cancel()
		}
	}
}
