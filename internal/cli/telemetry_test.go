package cli_test

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/internal/cli"
)

const oneCall = `{"phase":"pre_tool","action":{"tool":"exec","args":{"command":"echo hush-hush"}},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`

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
		var out, errs bytes.Buffer
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
	if !bytes.Contains(got["/v1/traces"], []byte("belay pre_tool")) || !bytes.Contains(got["/v1/traces"], []byte("hook command-block")) {
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
