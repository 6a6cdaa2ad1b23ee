package hookcmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// The command opens no token, least of all that of another role: the socket knows it by its uid.
func TestOpensNoToken(t *testing.T) {
	dir := stateDir(t)
	keys := filepath.Join(dir, "keys")
	for _, role := range []string{"invoke", "review", "admin"} {
		if err := os.WriteFile(daemonapi.TokenPath(dir, role), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, keys, unix.IN_OPEN|unix.IN_ACCESS); err != nil {
		t.Fatal(err)
	}
	opened := func() string {
		b := make([]byte, 64<<10)
		n, err := unix.Read(watch, b)
		if err != nil {
			return ""
		}
		return string(b[:n])
	}
	if _, err := os.ReadFile(daemonapi.TokenPath(dir, "admin")); err != nil || !strings.Contains(opened(), "admin.token") {
		t.Fatal("what opens a token is not seen", err)
	}
	const fine = `{"stdout":"{}","exit":0}`
	for name, serve := range map[string]func(){
		"HTTP":   func() { daemon(t, dir, ok("application/json", fine)) },
		"frames": func() { framing(t, dir, framed(daemonapi.FrameAnswer, fine)) },
	} {
		serve()
		r := runPatiently(t, dir, strings.NewReader(payload("PreToolUse")), time.Minute, "--runtime", "claude-code")
		if r.code != 0 || r.out != "{}\n" {
			t.Fatalf("%s: %+v", name, r)
		}
		if names := opened(); strings.Contains(names, ".token") {
			t.Errorf("%s: it opened %q", name, names)
		}
	}
}
