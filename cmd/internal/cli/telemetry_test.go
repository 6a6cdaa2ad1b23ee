package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/cli"
	"github.com/belay-hooks/belay/phases"
)

const oneCall = `{"phase":"pre_tool","action":{"tool":"exec","args":{"command":"echo hush-hush"}},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`

// lockedText is a text that a process still writes while a test reads it.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// runEval runs `belay eval` on a state directory of its own.
func runEval(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	env := func(name string) string {
		if name == "BELAY_HOME" {
			return filepath.Join(dir, "state")
		}
		return os.Getenv(name)
	}
	for _, line := range [][]string{{"init"}, append([]string{"eval"}, args...)} {
		var out bytes.Buffer
		var errs lockedText // an exporter that was given up may still complain
		code = (&cli.App{In: strings.NewReader(oneCall), Out: &out, Err: &errs, Getenv: env}).Main(t.Context(), line)
		stdout, stderr = out.String(), errs.String()
	}
	return stdout, stderr, code
}

func TestEvalExportsByTheStandardVariables(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]byte{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = append(got[r.URL.Path], b.Bytes()...)
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	if out, errs, code := runEval(t); code != 0 || !strings.Contains(out, `"decision":"allow"`) {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(got["/v1/traces"], []byte("belay pre_tool")) ||
		!bytes.Contains(got["/v1/traces"], []byte("hook command-guard")) {
		t.Errorf("traces: %q", got["/v1/traces"])
	}
	if !bytes.Contains(got["/v1/metrics"], []byte("belay.decisions")) {
		t.Errorf("metrics: %q", got["/v1/metrics"])
	}
	for path, b := range got {
		if bytes.Contains(b, []byte("hush-hush")) {
			t.Errorf("%s holds what the action held", path)
		}
	}
}

func TestEvalAnswersWithoutItsCollector(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // connections are taken, and nothing is ever answered
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	if out, errs, code := runEval(t); code != 0 || !strings.Contains(out, `"decision":"allow"`) {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
}

func TestVariablesThatCannotBeFollowedDoNotStopAnswers(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	out, errs, code := runEval(t)
	if code != 0 || !strings.HasPrefix(out, "{") || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if !strings.Contains(errs, "no telemetry") {
		t.Errorf("nothing was said: %q", errs)
	}
}

func TestTheDaemonExportsUntilItsEnd(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]byte{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = append(got[r.URL.Path], b.Bytes()...)
	}))
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	dir := shortDir(t)
	env := func(name string) string {
		if name == "BELAY_HOME" {
			return dir
		}
		return os.Getenv(name)
	}
	if code := (&cli.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: env}).Main(t.Context(),
		[]string{"init"}); code != 0 {
		t.Fatalf("init: exit %d", code)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, says := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := (&cli.App{In: strings.NewReader(""), Out: io.Discard, Err: says, Getenv: env}).Main(ctx, []string{"serve"})
		says.Close()
		ended <- code
	}()
	lines := bufio.NewScanner(said)
	serving := false
	for !serving && lines.Scan() {
		serving = strings.Contains(lines.Text(), "serving")
	}
	if !serving {
		t.Fatalf("the daemon did not start: exit %d", <-ended)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	c, err := client.Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if v, err := c.InvokeJSON(t.Context(), []byte(oneCall)); err != nil || v.Decision != phases.Allow {
		t.Fatalf("%s, %v", v.Decision, err)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d", code)
	}
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(got["/v1/traces"], []byte("belay pre_tool")) {
		t.Errorf("traces: %q", got["/v1/traces"])
	}
	for _, name := range []string{"belay.decisions", "belay.queue.waiting", "belay.approvals.pending"} {
		if !bytes.Contains(got["/v1/metrics"], []byte(name)) {
			t.Errorf("no %s in the metrics: %q", name, got["/v1/metrics"])
		}
	}
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
