package cli_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/cli"
)

// systemd hears when the daemon is ready and when it stops; the log is JSON.
func TestServeTellsSystemd(t *testing.T) {
	dir, err := os.MkdirTemp("", "belay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	state := filepath.Join(dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "belay.yaml"), []byte("version: belay/v1\nhooks: []\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hear := func() string {
		b := make([]byte, 100)
		_ = l.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := l.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, log bytes.Buffer
	code := make(chan int, 1)
	go func() {
		a := &cli.App{In: strings.NewReader(""), Out: &out, Err: &log, Getenv: func(name string) string {
			return map[string]string{"NOTIFY_SOCKET": path, "BELAY_HOME": state}[name]
		}}
		code <- a.Main(ctx, []string{"serve", "--log", "json"})
	}()
	if got := hear(); got != "READY=1" {
		t.Errorf("heard %q", got)
	}
	cancel()
	if got := hear(); got != "STOPPING=1" {
		t.Errorf("heard %q", got)
	}
	if c := <-code; c != cli.ExitOK || out.Len() > 0 {
		t.Errorf("exit %d, output %q", c, out.String())
	}
	if !strings.Contains(log.String(), `"msg":"stopping"`) || strings.Contains(log.String(), "level=") {
		t.Errorf("the log: %s", log.String())
	}
}
