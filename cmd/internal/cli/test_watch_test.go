package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/cli"
)

// seenBuffer is written by the command and read by the test.
type seenBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *seenBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *seenBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// wait waits until the text has been written n times.
func (s *seenBuffer) wait(t *testing.T, text string, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s.mu.Lock()
		got := strings.Count(s.b.String(), text)
		s.mu.Unlock()
		if got >= n {
			return
		}
	}
	t.Fatalf("%q was not written %d times:\n%s", text, n, s.b.String())
}

// With --watch the suites run again when a file changes, also after one that was
// broken, and the command ends with status 0 when it is told to.
func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	write := func(want string) {
		t.Helper()
		src := "hook: builtin:kill-switch\ncases:\n  - name: one\n    phase: pre_tool\n    action: {tool: exec, args: {}}\n    want: {decision: " + want + "}\n"
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("allow")
	out := new(seenBuffer)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &cli.App{Out: out, Err: out, Getenv: func(k string) string { return map[string]string{"HOME": t.TempDir()}[k] }}
	ended := make(chan int, 1)
	go func() { ended <- a.Main(ctx, []string{"test", path, "--watch"}) }()
	out.wait(t, "1 passed", 1)
	out.wait(t, "waiting for changes", 1)
	write("block")
	out.wait(t, "1 failed", 1)
	out.wait(t, "waiting for changes", 2)
	write("nonsense")
	out.wait(t, "must be allow, ask or block", 1)
	out.wait(t, "waiting for changes", 3)
	write("allow")
	out.wait(t, "1 passed", 2)
	cancel()
	select {
	case code := <-ended:
		if code != cli.ExitOK {
			t.Errorf("status %d", code)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
}
