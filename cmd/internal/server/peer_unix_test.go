//go:build unix

package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
)

// Another user is refused by who he is, even with a valid token and with the
// permissions of directory and socket out of the way.
func TestAnotherUserIsRefused(t *testing.T) {
	d := startDaemon(t)
	token := d.token(t, client.RoleAdmin)
	framed := filepath.Join(d.dir, daemonapi.FrameSocketName)
	at := func(socket string, uid int) string {
		exe := filepath.Join(d.dir, "child")
		copyFile(t, os.Args[0], exe)
		cmd := exec.Command(exe)
		cmd.Env = []string{childEnv + "=" + socket, "BELAY_TEST_TOKEN=" + token}
		if uid != os.Getuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("child as %d: %v\n%s", uid, err, out)
		}
		return string(out)
	}
	run := func(uid int) string { return at(d.server.Socket(), uid) }
	if out := run(os.Getuid()); !strings.HasPrefix(out, "200 ") {
		t.Fatalf("the owner is refused: %s", out)
	}
	if out := at(framed, os.Getuid()); !strings.Contains(out, `"decision":"allow"`) {
		t.Fatalf("the owner is refused in frames: %s", out)
	}
	if os.Getuid() != 0 {
		return // TestCheckPeer shows the rest without another uid
	}
	if err := os.Chmod(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const otherUser = 65534
	if out := run(otherUser); !strings.Contains(out, "permission denied") {
		t.Errorf("the mode of the socket lets others in: %s", out)
	}
	if out := at(framed, otherUser); !strings.Contains(out, "permission denied") {
		t.Errorf("the mode of the framed socket lets others in: %s", out)
	}
	for _, socket := range []string{d.server.Socket(), framed} {
		if err := os.Chmod(socket, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out := run(otherUser); !strings.HasPrefix(out, "403 ") || !strings.Contains(out, wire.CodeForbidden) {
		t.Errorf("another user got in: %s", out)
	}
	if out := at(framed, otherUser); !strings.HasPrefix(out, `{"status":403,"error":{"code":"forbidden",`) {
		t.Errorf("another user got in by a frame: %s", out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}
