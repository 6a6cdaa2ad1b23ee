package front_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/front"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/system"
)

// Each refused caller is told, with the reason for programs. The daemon's log names one user once in a while, and a
// flood under many uids leaves few lines.
func TestRefusedAreTold(t *testing.T) {
	var mu sync.Mutex
	var told []front.Refusal
	var lines bytes.Buffer
	uid := 2000
	config, err := system.Parse([]byte("version: belay-system/v1\nusers: {allow: [\"1000\"]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := startWith(t, func(o *front.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		o.Refused = func(of front.Refusal) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, of)
		}
		o.Peer = func(syscall.Conn) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			uid++
			return uid, nil
		}
	})
	r.config.Store(config)
	const callers = 300
	for range callers {
		c, err := net.Dial("unix", r.dir+"/"+daemonapi.FrameSocketName)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(c)
		c.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != callers {
		t.Fatalf("%d of %d are told", len(told), callers)
	}
	if of := told[callers-1]; of.UID != 2000+callers || of.Code != front.CodeNotAllowed ||
		of.Socket != daemonapi.FrameSocketName || !strings.Contains(of.Why, "users.allow") {
		t.Errorf("%+v", of)
	}
	if n := strings.Count(lines.String(), "a caller was refused"); n == 0 || n > 64 {
		t.Errorf("%d lines", n)
	}
}
