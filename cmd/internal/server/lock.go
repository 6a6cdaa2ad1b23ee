package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

const (
	lockPatience = 500 * time.Millisecond // outlasts a client that looks for a moment whether the lock is held
	lockEvery    = time.Second            // how often the lock is looked at while the directory is served
)

// lock makes this process the only daemon of the state directory until the lock is closed,
// by a crash as well. The error is ErrRunning when there is one already.
func lock(dir string) (*dirLock, error) {
	l, err := takeDirLock(dir, daemonapi.LockName, lockPatience)
	if errors.Is(err, errHeld) {
		return nil, ErrRunning
	}
	return l, err
}

// guardLock returns with ErrRunning when another process has the directory, or with nil
// when ctx ends. A lock file that was removed or replaced is made anew.
func (s *Server) guardLock(ctx context.Context) error {
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		renewed, err := s.locked.check()
		switch {
		case errors.Is(err, errLost):
			return fmt.Errorf("%w: this one stops: %w", ErrRunning, err)
		case err != nil:
			s.log.LogAttrs(ctx, slog.LevelWarn, "the lock of the state directory cannot be looked at", slog.Any("error", err))
		case renewed:
			s.log.LogAttrs(ctx, slog.LevelWarn,
				daemonapi.LockName+" was removed or replaced while it was held: it was made anew")
		}
	}
}
