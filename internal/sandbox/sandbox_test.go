package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// guest returns the file of a guest in testdata.
func guest(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, opts Options) *Engine {
	t.Helper()
	e, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func load(t testing.TB, e *Engine, file []byte) *Module {
	t.Helper()
	m, err := e.Load(context.Background(), file, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// allGrants is all that a sandboxed hook can be granted, parsed once: there are many sessions.
var allGrants = sync.OnceValues(func() (hostcalls.Grants, error) {
	var granted []string
	for _, c := range hostcalls.Table() {
		if c.Capability != "" && c.LeastTier != phases.Trusted {
			granted = append(granted, c.Capability)
		}
	}
	return hostcalls.ParseGrants(granted)
})

// session is a turn of a sandboxed hook that may do all that its tier can.
func session(t testing.TB, p phases.Phase, action string) *hostcalls.Session {
	t.Helper()
	return sessionWith(t, p, action, nil)
}

// sessionWith is session with a change.
func sessionWith(t testing.TB, p phases.Phase, action string,
	change func(*hostcalls.SessionConfig)) *hostcalls.Session {
	t.Helper()
	grants, err := allGrants()
	if err != nil {
		t.Fatal(err)
	}
	cfg := hostcalls.SessionConfig{
		Phase: p, Pass: phases.PassMutate,
		Input:   jsontext.Value(strings.TrimSuffix(action, "}") + `,"phase":"` + string(p) + `"}`),
		Action:  jsontext.Value(action),
		Actor:   phases.Actor{Hook: "test", Tier: phases.Sandboxed, Mutator: true},
		Granted: grants,
		Time:    testTime,
		Seed:    [32]byte{1}, InitSeed: [32]byte{2},
	}
	if change != nil {
		change(&cfg)
	}
	s, err := hostcalls.NewSession(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const lsAction = `{"tool":"exec","args":{"command":"ls -la"}}`

func faultOf(t testing.TB, err error) *phases.Fault {
	t.Helper()
	f := phases.FaultOf(err)
	if err != nil && f == nil {
		t.Fatalf("not a fault: %v", err)
	}
	return f
}

// A hook written in C against the SDK's header, from file to effects.
func TestGuard(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		m := load(t, open(t, Options{Interpreter: interpreter}), guest(t, "guard"))
		run := func(action string) []phases.Effect {
			s := session(t, phases.PreTool, action)
			rep, err := m.Run(context.Background(), RunRequest{Phase: phases.PreTool, Session: s})
			if err != nil {
				t.Fatal(err, errors.Unwrap(err))
			}
			if rep.Fuel <= 0 || rep.Hostcalls == 0 || rep.MemoryPeak < pageSize || rep.Duration <= 0 {
				t.Errorf("%+v", rep)
			}
			return s.Effects()
		}
		if got := run(`{"tool":"exec","args":{"command":"sudo rm -rf / --no-preserve-root"}}`); len(got) != 1 ||
			got[0].Kind != phases.EffectBlock || got[0].Text != "no recursive removal of the root" {
			t.Errorf("%+v", got)
		}
		if got := run(lsAction); len(got) != 1 || got[0].Kind != phases.EffectAnnotate || string(got[0].Value) != `"ls -la"` {
			t.Errorf("%+v", got)
		}
	}
}
