package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/system"
)

// spaceEvery is how often the size of a user's state directory is looked at.
const spaceEvery = 5 * time.Second

// spaces holds users whose state directory has grown above its bound: one who floods the log fills no disk that others
// need. Safe for concurrent use.
type spaces struct {
	dir func(uid int) string

	mu   sync.Mutex // not held while a directory is looked at
	full map[int]error
}

// held says why a user is not served, by the last look.
func (s *spaces) held(uid int, _ *system.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full[uid]
}

// users are those who are held.
func (s *spaces) users() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.full))
}

// look finds out whether a user is held. It walks the user's directory, and so takes as long as that is large.
func (s *spaces) look(uid int, config *system.Config) (held error) {
	most := int64(config.Limits.StateMiB) << 20
	if size, err := sizeOf(s.dir(uid)); err != nil {
		held = errors.New("the state of this user cannot be looked at: root finds the reason with `belay system status`")
	} else if size >= most {
		held = fmt.Errorf("the state of this user has reached %d MiB, limits.state_mib of %s: root compacts the log with "+
			"`belay --state %s events compact`, or raises the limit", config.Limits.StateMiB, system.ConfigFile, s.dir(uid))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.full, uid)
	if held != nil {
		s.full[uid] = held
	}
	return held
}

// sizeOf sums the files below a directory; one that does not exist has none.
func sizeOf(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var fi fs.FileInfo
			if fi, err = d.Info(); err == nil {
				sum += fi.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		return err
	})
	return sum, err
}

// bound ends the servers of users who are not served any more, with the connections that they hold open: their state
// has grown above its bound, system.yaml does not let them ask now, or it cannot be believed.
func (m *machine) bound(ctx context.Context, config func() (*system.Config, error), users func() []int,
	drop func(uid int)) {
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c, unsound := config()
		open := users()
		for _, uid := range m.spaces.users() { // whose servers are not open: there may be room again
			if unsound == nil && !slices.Contains(open, uid) {
				_ = m.spaces.look(uid, c)
			}
		}
		for _, uid := range open {
			err := unsound
			if err == nil {
				err = errors.Join(c.MayAsk(uid, system.Directory{}), m.spaces.look(uid, c))
			}
			if err != nil {
				m.log.LogAttrs(ctx, slog.LevelError, "a user is not served any more", slog.Int("uid", uid), slog.Any("error", err))
				m.events.Held(uid, err)
				drop(uid)
			}
		}
	}
}
