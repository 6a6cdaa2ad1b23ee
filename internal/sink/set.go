package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Times of sinks that are not durable.
const (
	retryFirst = time.Second      // after the first failure
	retryMost  = 30 * time.Second // between tries while it fails
	lastTry    = 2 * time.Second  // what the end of the process waits for them
)

// Setting is one file with what depends on it.
type Setting struct {
	Options      // Sync is Durable
	Durable bool // no verdict before the file has its event
}

// State says how a sink stands.
type State struct {
	Path    string
	Durable bool
	OK      bool
	Seq     int64     // last event that is known to be in it
	Err     error     // why it is not OK
	Since   time.Time // since when it is not
}

// Set is a kernel.Store that keeps files of JSON lines up with the store. Safe for
// concurrent use; several processes may share store and files.
type Set struct {
	kernel.Store
	log   *slog.Logger
	newID func(time.Time) string

	mu      sync.RWMutex
	members []*member
}

// New returns the store with the files. Nothing is written before the first commit.
// newID makes ids of events.
func New(store kernel.Store, settings []Setting, newID func(time.Time) string, log *slog.Logger) *Set {
	s := &Set{Store: store, newID: newID, log: log}
	s.Use(settings)
	return s
}

// Use takes other settings into use. Files that stay are not touched.
func (s *Set) Use(settings []Setting) {
	s.mu.Lock()
	old := s.members
	s.members = nil
	var gone []*member
	for _, set := range settings {
		set.Sync = set.Durable
		m := find(old, set)
		if m == nil {
			m = s.member(set)
		}
		s.members = append(s.members, m)
	}
	for _, m := range old {
		if find(s.members, m.set) != m {
			gone = append(gone, m)
		}
	}
	s.mu.Unlock()
	for _, m := range gone {
		m.end()
	}
}

func find(ms []*member, set Setting) *member {
	for _, m := range ms {
		if m.set == set {
			return m
		}
	}
	return nil
}

// Commit implements kernel.Store: the batch is in every durable sink, too, when it
// returns without an error. While one of them cannot be written nothing is
// committed at all, and the error is kernel.ErrUnavailable.
func (s *Set) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	members := s.all()
	for _, m := range members {
		if !m.set.Durable || m.proven() {
			continue
		}
		if err := m.follow(ctx, 0); err != nil {
			return kernel.Receipt{}, unavailable(m, err)
		}
	}
	r, err := s.Store.Commit(ctx, b)
	if err != nil || r.Last == 0 {
		return r, err
	}
	// The decision has been taken and stands in the store: the kernel's bounded
	// patience counts here, and not the caller's context.
	for _, m := range members {
		if !m.set.Durable {
			m.wake()
			continue
		}
		if err := m.follow(ctx, r.Last); err != nil {
			return kernel.Receipt{}, unavailable(m, err)
		}
	}
	return r, nil
}

func unavailable(m *member, err error) error {
	return fmt.Errorf("%w: the durable sink %s: %w", kernel.ErrUnavailable, m.set.Path, err)
}

// Check brings every file up to date, if that can be done, and says how they stand.
func (s *Set) Check(ctx context.Context) []State {
	var out []State
	for _, m := range s.all() {
		_ = m.follow(ctx, 0) // in the state
		out = append(out, m.state())
	}
	return out
}

// Finish tries once more to bring every file up to date and lets go of them. What a
// sink that is not durable lacks then is caught up by the next process.
func (s *Set) Finish() {
	for _, m := range s.all() {
		m.end()
	}
}

func (s *Set) all() []*member {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.members
}

// notice records that a sink that is not durable fails, or works again: once, also
// when many processes find out one after the other.
func (s *Set) notice(ctx context.Context, m *member, text string, only func(last string) bool) {
	newest, err := s.Events(ctx, wire.Query{Type: phases.EventNotice, Newest: true, Limit: 50})
	last := ""
	for _, e := range newest {
		if e.Binding == "" && len(e.Reason) > len(m.name()) && e.Reason[:len(m.name())] == m.name() {
			last = e.Reason
		}
	}
	if err != nil || !only(last) {
		return
	}
	now := time.Now()
	_, err = s.Commit(ctx, kernel.Batch{Now: now, Events: []phases.Event{{
		ID: s.newID(now), Type: phases.EventNotice, Time: now, Reason: phases.SafeText(text, phases.MaxReasonBytes),
	}}})
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a notice about a sink could not be recorded", slog.Any("error", err))
	}
}

var errNotTried = errors.New("not written to yet")
