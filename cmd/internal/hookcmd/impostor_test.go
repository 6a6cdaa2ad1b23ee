package hookcmd_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/notes"
)

// A process that stands where the daemon should gets neither token nor payload, and its
// answer lets nothing go on. Nor does belay bypass it.
func TestImpostorGetsNothing(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, dir string) string{
		"a link to a socket elsewhere": func(t *testing.T, dir string) string {
			path := filepath.Join(stateDir(t), "other.sock")
			if err := os.Symlink(path, filepath.Join(dir, daemonapi.SocketName)); err != nil {
				t.Fatal(err)
			}
			return path
		},
		"a directory that others write to": func(t *testing.T, dir string) string {
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, daemonapi.SocketName)
		},
	} {
		for event, want := range noes() {
			dir := stateDir(t)
			if err := os.WriteFile(daemonapi.TokenPath(dir, "invoke"),
				[]byte("belay_invoke_"+strings.Repeat("x", 43)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", put(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			var told atomic.Int64
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_ = c.SetDeadline(time.Now().Add(time.Second))
					n, _ := c.Read(make([]byte, 64<<10))
					told.Add(int64(n))
					_, _ = io.WriteString(c,
						string(ok("application/json", `{"stdout":"{}","exit":0,"stderr":"","notes":[],"verdicts":[]}`)))
					_ = c.Close()
				}
			}()
			r := run(t, dir, strings.NewReader(payload(event)), "--runtime", "claude-code", "--for", event)
			_ = l.Close()
			if r.code != want.exit || r.out == "{}\n" || len(r.handed) != 0 ||
				!strings.Contains(r.err, "the daemon could not be asked") {
				t.Errorf("%s, %s: %+v", name, event, r)
			}
			if told.Load() != 0 {
				t.Errorf("%s, %s: it was told %d bytes", name, event, told.Load())
			}
			checkNo(t, dir, event, r)
		}
	}
}

// A state directory of another user, named by an environment that the agent's project has
// changed, gets no note: it could lead to any file of this user.
func TestNoNoteInADirectoryOfAnother(t *testing.T) {
	if os.Getuid() != 0 {
		return // only root can give a directory away
	}
	dir := stateDir(t)
	victim := filepath.Join(stateDir(t), "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("mine\n"), 0o600),
		os.Symlink(victim, filepath.Join(dir, notes.SpoolName)),
		os.Chown(filepath.Join(dir, "keys"), 65534, 65534), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	daemon(t, dir, ok("application/json", `{"stdout":"{}","exit":0,"stderr":"","notes":[],"verdicts":[]}`))
	r := run(t, dir, strings.NewReader(payload("PreToolUse")), "--runtime", "claude-code", "--for", "PreToolUse")
	if r.code != 2 || len(r.handed) != 0 {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "mine\n" {
		t.Errorf("%v: %s", err, b)
	}
}
