package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// While a daemon serves a directory another one is refused, whatever became of the lock
// file, and the one that serves goes on.
func TestOneDaemonWhateverBecomesOfTheLockFile(t *testing.T) {
	for how, harm := range map[string]func(string) error{
		"removed":  os.Remove,
		"replaced": func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, nil, 0o600)) },
	} {
		t.Run(how, func(t *testing.T) {
			d := startDaemon(t)
			path := filepath.Join(d.dir, daemonapi.LockName)
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			if _, err := server.Open(d.host, server.Options{Dir: d.dir}); !errors.Is(err, server.ErrRunning) {
				t.Fatalf("a second daemon: %v", err)
			}
			eventually(t, "the lock file is made anew", func() bool {
				return strings.Contains(d.log.String(), "it was made anew")
			})
			if _, err := server.Open(d.host, server.Options{Dir: d.dir}); !errors.Is(err, server.ErrRunning) {
				t.Errorf("a second daemon afterwards: %v", err)
			}
			if v, err := dial(t, d.dir).Invoke(t.Context(), invocation("s", "ls")); err != nil || v.Decision != phases.Allow {
				t.Errorf("%s %v", v.Decision, err)
			}
		})
	}
}
