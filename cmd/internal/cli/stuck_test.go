package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/cli"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
)

// deafFiles answers about no link and hears of no deadline until it is let go.
type deafFiles struct{ free chan struct{} }

func (d deafFiles) Readlink(context.Context, string) (string, error) {
	<-d.free
	return "", hostcalls.ErrNotLink
}

// deafState is a state directory with hooks h1, h2… for the tools t1, t2…, each of which
// asks the host about a path.
func deafState(t *testing.T, hooks int) (dir string, files deafFiles) {
	t.Helper()
	dir, err := os.MkdirTemp("", "belay-") // short: a socket goes there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	code, err := os.ReadFile("../../../harness/conformance/guests/path-resolve.wasm")
	if err != nil {
		t.Fatal(err)
	}
	const name = "belay.manifest"
	manifest := `{"name":"paths","version":"1.0.0","abi":1,"description":"Asks about a path.","license":"Apache-2.0","phases":["pre_tool"],` +
		`"capabilities":[{"name":"path_resolve","reason":"to ask"}]}`
	section := append([]byte{byte(len(name))}, name+manifest...)
	code = append(binary.AppendUvarint(append(code, 0), uint64(len(section))), section...)
	config := "version: belay/v1\nhooks:\n"
	for n := range hooks {
		config += fmt.Sprintf(
			"  - {name: h%d, module: paths.wasm, digest: \"sha256:%x\", match: {tools: ^t%d$, any: true}, capabilities: [path_resolve]}\n", n, sha256.Sum256(code), n)
	}
	for file, content := range map[string][]byte{"paths.wasm": code, "belay.yaml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files = deafFiles{make(chan struct{})}
	t.Cleanup(func() { close(files.free) })
	return dir, files
}

func action(tool int) string {
	return fmt.Sprintf(`{"phase":"pre_tool","action":{"tool":"t%d","args":{}}}`, tool)
}

// belayOn runs a command on the directory.
func belayOn(ctx context.Context, dir string, files kernel.FileSystem, in string,
	args ...string) (code int, out, log string) {
	var o, e bytes.Buffer
	a := &cli.App{In: strings.NewReader(in), Out: &o, Err: &e, Files: files, Getenv: func(name string) string {
		return map[string]string{"BELAY_HOME": dir}[name]
	}}
	code = a.Main(ctx, args)
	return code, o.String(), e.String()
}

// eval answers for a hook that ignores its deadline, and ends.
func TestEvalEndsWithAHookLeftBehind(t *testing.T) {
	dir, files := deafState(t, 1)
	from := time.Now()
	code, out, log := belayOn(t.Context(), dir, files, action(0), "eval")
	if code != cli.ExitBlocked || !strings.Contains(out, `"kind":"hang"`) {
		t.Errorf("exit %d\n%s%s", code, out, log)
	}
	if took := time.Since(from); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	code, out, log = belayOn(t.Context(), dir, nil, action(0), "eval") // another process
	if code != cli.ExitOK {
		t.Errorf("after a restart: exit %d\n%s%s", code, out, log)
	}
}

// A daemon goes on with hooks left behind until they are too many. Then it ends, with a
// status of its own: its supervisor starts it again.
func TestServeEndsWhenStuck(t *testing.T) {
	dir, files := deafState(t, kernel.MaxLeftBehind)
	ended := serveOn(t, t.Context(), dir, files)
	asked := func(from, to int) {
		var wg sync.WaitGroup
		for n := from; n < to; n++ {
			wg.Go(func() {
				if code, out, log := belayOn(t.Context(), dir, nil, action(n), "eval"); code != cli.ExitBlocked ||
					!strings.Contains(out, `"kind":"hang"`) {
					t.Errorf("exit %d\n%s%s", code, out, log)
				}
			})
		}
		wg.Wait()
	}
	asked(0, kernel.MaxLeftBehind-1)
	if code, out, log := belayOn(t.Context(), dir, nil, "", "status"); code != cli.ExitError ||
		!strings.HasPrefix(out, "NOT READY: the hooks h0, h1, h2 cannot run\n") || !strings.Contains(out, "they block until they have ended: h0, h1, h2") {
		t.Errorf("status: exit %d\n%s%s", code, out, log)
	}
	if code, out, log := belayOn(t.Context(), dir, nil, "", "doctor"); code != cli.ExitError ||
		!strings.Contains(out, "still run: h0, h1, h2") {
		t.Errorf("doctor: exit %d\n%s%s", code, out, log)
	}
	asked(kernel.MaxLeftBehind-1, kernel.MaxLeftBehind)
	select {
	case got := <-ended:
		if got.code != cli.ExitRestart || !strings.Contains(got.log, "start it again") ||
			strings.Contains(got.log, "belay: stopped\n") {
			t.Errorf("exit %d\n%s", got.code, got.log)
		}
	case <-time.After(time.Minute):
		t.Fatal("it has not ended")
	}
}

// A daemon is told to stop while a hook ignores its deadline: the action is answered,
// and the daemon ends.
func TestServeStopsWithAHookLeftBehind(t *testing.T) {
	dir, files := deafState(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := serveOn(t, ctx, dir, files)
	answered := make(chan string, 1)
	go func() {
		_, out, log := belayOn(t.Context(), dir, nil, action(0), "eval")
		answered <- out + log
	}()
	time.Sleep(500 * time.Millisecond) // it is being decided
	cancel()
	if out := <-answered; !strings.Contains(out, `"kind":"hang"`) {
		t.Errorf("answered %s", out)
	}
	select {
	case got := <-ended:
		if got.code != cli.ExitOK {
			t.Errorf("exit %d\n%s", got.code, got.log)
		}
	case <-time.After(time.Minute):
		t.Fatal("it has not ended")
	}
}

type served struct {
	code int
	log  string
}

// serveOn starts a daemon and waits for its socket.
func serveOn(t *testing.T, ctx context.Context, dir string, files kernel.FileSystem) <-chan served {
	t.Helper()
	ended := make(chan served, 1)
	go func() {
		code, _, log := belayOn(ctx, dir, files, "", "serve")
		ended <- served{code, log}
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := client.Dial(dir); err == nil {
			c.Close()
			return ended
		}
		select {
		case got := <-ended:
			t.Fatalf("exit %d\n%s", got.code, got.log)
		default:
		}
		if time.Now().After(end) {
			t.Fatal("it does not answer")
		}
	}
}
