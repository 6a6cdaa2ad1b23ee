package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/machinelog"
	"github.com/belay-hooks/belay/internal/system"
)

// A user whose state directory has grown to its bound is not served, with the way out; when it is smaller again, they
// are.
func TestAFullStateIsHeld(t *testing.T) {
	dir := t.TempDir()
	s := &spaces{dir: func(int) string { return filepath.Join(dir, "1001") }, full: map[int]error{}}
	config := &system.Config{Limits: system.Limits{StateMiB: 16}}
	look := func() error {
		err := s.look(1001, config)
		if known := s.held(1001, config); known != err {
			t.Errorf("%v is known after %v", known, err)
		}
		return err
	}
	if err := look(); err != nil {
		t.Errorf("a user without a directory: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "1001", "blobs"), 0o700); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "1001", "blobs", "x")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 16<<20); err != nil {
		t.Fatal(err)
	}
	if err := s.held(1001, config); err != nil {
		t.Errorf("a connection has the directory looked at: %v", err)
	}
	if err := look(); err == nil || !strings.Contains(err.Error(), "limits.state_mib") ||
		!strings.Contains(err.Error(), "events compact") {
		t.Errorf("a full directory: %v", err)
	}
	if err := os.Remove(big); err != nil {
		t.Fatal(err)
	}
	if err := look(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// A user who is held, and has no server any more, is looked at again, and served when there is room.
func TestRoomIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		config := &system.Config{Limits: system.Limits{StateMiB: 16}}
		s := &spaces{full: map[int]error{1001: errors.New("no room")}, dir: func(int) string { return dir }}
		m := &machine{log: slog.New(slog.DiscardHandler), spaces: s}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go m.bound(ctx, func() (*system.Config, error) { return config, nil }, func() []int { return nil }, func(int) {})
		time.Sleep(spaceEvery + time.Second)
		synctest.Wait()
		if err := s.held(1001, config); err != nil {
			t.Errorf("%v", err)
		}
	})
}

// Who loses the right to ask loses the connections, too, and all do while system.yaml cannot be believed. Others stay.
func TestOpenServersFollowSystemConfig(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		config  *system.Config
		err     error
		dropped []int
	}{
		"both may ask":           {config: &system.Config{Users: system.Users{Allow: []string{"4101", "4102"}}}},
		"one is not listed":      {config: &system.Config{Users: system.Users{Allow: []string{"4102"}}}, dropped: []int{4101}},
		"what is not to be read": {err: system.ErrUntrusted, dropped: []int{4101, 4102}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.config != nil {
					c.config.Limits.StateMiB = 16
				}
				m := &machine{log: slog.New(slog.DiscardHandler), events: machinelog.New(machinelog.Options{}),
					spaces: &spaces{full: map[int]error{},
						dir: func(uid int) string { return filepath.Join(dir, strconv.Itoa(uid)) }}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var dropped []int
				go m.bound(ctx, func() (*system.Config, error) { return c.config, c.err },
					func() []int { return []int{4101, 4102} }, func(uid int) { dropped = append(dropped, uid) })
				time.Sleep(spaceEvery + time.Second)
				synctest.Wait()
				if !slices.Equal(dropped, c.dropped) {
					t.Errorf("%v, want %v", dropped, c.dropped)
				}
			})
		})
	}
}
