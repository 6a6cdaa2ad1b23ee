package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
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

	mu   sync.Mutex
	seen map[int]space
}

type space struct {
	at   time.Time
	held error
}

// held says why a user is not served, by a look that is not older than spaceEvery.
func (s *spaces) held(uid int, config *system.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.seen[uid]; ok && time.Since(last.at) < spaceEvery {
		return last.held
	}
	now := space{at: time.Now()}
	most := int64(config.Limits.StateMiB) << 20
	if size, err := sizeOf(s.dir(uid)); err != nil {
		now.held = errors.New("the state of this user cannot be looked at: root finds the reason with `belay system status`")
	} else if size >= most {
		now.held = fmt.Errorf("the state of this user has reached %d MiB, limits.state_mib of %s: root compacts the log with "+
			"`belay --state %s events compact`, or raises the limit", config.Limits.StateMiB, system.ConfigFile, s.dir(uid))
	}
	s.seen[uid] = now
	return now.held
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
func (m *machine) bound(ctx context.Context, config func() (*system.Config, error), users func() []int, drop func(uid int)) {
	tick := time.NewTicker(spaceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c, unsound := config()
		for _, uid := range users() {
			err := unsound
			if err == nil {
				err = errors.Join(c.MayAsk(uid, system.Directory{}), m.spaces.held(uid, c))
			}
			if err != nil {
				m.log.LogAttrs(ctx, slog.LevelError, "a user is not served any more", slog.Int("uid", uid), slog.Any("error", err))
				m.events.Held(uid, err)
				drop(uid)
			}
		}
	}
}
