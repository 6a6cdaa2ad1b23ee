package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/phases"
)

// Runs of one module at the same time share nothing: each has the outcome that it
// has alone, also beside runs that fail.
func TestParallelRuns(t *testing.T) {
	e := open(t, Options{})
	m := load(t, e, guest(t, "init_order"))
	hogs := load(t, e, guest(t, "hogs"))
	alone := run(t, m, RunRequest{Phase: phases.PreTool, Timeout: -1}, lsAction)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if d := cmp.Diff(alone, run(t, m, RunRequest{Phase: phases.PreTool, Timeout: -1, Slice: 50}, lsAction)); d != "" {
					t.Error(d)
				}
				if o := run(t, hogs, RunRequest{Phase: phases.PostReceive, Timeout: -1}, lsAction); o.Kind != phases.KindMemory {
					t.Error(o.Kind, o.Cause)
				}
			}
		})
	}
	// Loading goes on beside.
	wg.Go(func() { load(t, e, guest(t, "wasi")).Close() })
	wg.Wait()
}

// Close waits for runs under way and makes later ones fail.
func TestCloseWaits(t *testing.T) {
	m := load(t, open(t, Options{}), guest(t, "hogs"))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := session(t, phases.PrePlan, lsAction)
	go func() {
		_, err := m.Run(ctx, RunRequest{Phase: phases.PrePlan, Fuel: 1 << 60, Timeout: -1, Session: s})
		ended <- err
	}()
	for m.runs.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	closed := make(chan struct{})
	go func() { m.Close(); close(closed) }()
	for {
		m.mu.Lock()
		closing := m.closed
		m.mu.Unlock()
		if closing {
			break
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case <-closed:
		t.Fatal("closed under a run")
	case <-ended:
		t.Fatal("the run ended by itself")
	default:
	}
	cancel()
	<-closed
	if f := faultOf(t, <-ended); f == nil || f.Kind != phases.KindDeadline {
		t.Error(f)
	}
	m.Close() // again does no harm
}

// exampleActions are plain actions, one per phase, that satisfy any example.
var exampleActions = map[phases.Phase]string{
	phases.PrePlan:         `{"kind":"message","text":"please think hard about the deploy key AKIAIOSFODNN7EXAMPLE"}`,
	phases.PreSend:         `{"provider":"p","model":"m","messages":[{"role":"user","content":"hi"}],"params":{"think_level":"low"}}`,
	phases.PostReceive:     `{"kind":"turn","text":"done \u001b[31mred"}`,
	phases.PreTool:         `{"tool":"exec","args":{"command":"git push --force && rm -rf /"}}`,
	phases.PostTool:        `{"tool":"exec","args":{"command":"ls"},"result":"a\u001b[0mb"}`,
	phases.StateTransition: `{"machine":"stage","from":"plan","to":"release","data":{}}`,
	phases.Spawn:           `{"parent":"main","child":{"agent":"helper","prompt":"go"},"depth":3}`,
	phases.Audit:           `{"kind":"verdict","data":{"input":{"args":{"command":"ls"}}}}`,
}

// loadInstalled loads a module as an operator's.
func loadInstalled(t testing.TB, e *Engine, file []byte) *Module {
	t.Helper()
	info, err := e.Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), file, LoadOptions{Class: Installed, Declared: &Declared{
		Capabilities: info.Capabilities, Phases: info.Phases, Mutates: mutates(&info)}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The example hooks have the same fuel and the same effects on compiler and
// interpreter, in each of their phases.
func TestExamplesOnBothEngines(t *testing.T) {
	files, err := filepath.Glob("../../examples-wasm/*/*.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Log("no example is built")
	}
	e := map[bool]*Engine{false: open(t, Options{}), true: open(t, Options{Interpreter: true})}
	for _, path := range files {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		mods := map[bool]*Module{false: loadInstalled(t, e[false], file), true: loadInstalled(t, e[true], file)}
		for _, p := range mods[false].Info().Phases {
			req := RunRequest{Phase: p, Timeout: -1}
			one, other := run(t, mods[false], req, exampleActions[p]), run(t, mods[true], req, exampleActions[p])
			if d := cmp.Diff(one, other); d != "" {
				t.Errorf("%s, %s: %s", path, p, d)
			}
			if one.Kind == phases.KindTrap || one.Kind == phases.KindHostcall {
				t.Errorf("%s, %s: %s %s", path, p, one.Kind, one.Cause)
			}
		}
	}
}

// Runs begin while the module is closed, twice at once: those that begin have ended when either Close returns, and none
// begins after that.
func TestCloseBesideRuns(t *testing.T) {
	e := open(t, Options{})
	file := guest(t, "guard")
	for range 40 {
		m := load(t, e, file)
		var inside, after atomic.Int64
		var closed atomic.Bool
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for late := closed.Load(); ; late = closed.Load() {
					if !m.enter() {
						return
					}
					if inside.Add(1); late {
						after.Add(1)
					}
					runtime.Gosched()
					inside.Add(-1)
					m.leave()
				}
			})
		}
		for range 2 {
			all.Go(func() {
				m.Close()
				if n := inside.Load(); n != 0 {
					t.Errorf("%d runs are under way in a closed module", n)
				}
				closed.Store(true)
			})
		}
		all.Wait()
		if n := after.Load(); n != 0 || m.runs.Load() != closedRuns {
			t.Fatalf("%d runs began after the module was closed; the count is %d", n, m.runs.Load()-closedRuns)
		}
	}
}
