package belay_test

import (
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func example(name string) string {
	return filepath.Join("examples-wasm", name, name+".wasm")
}

func open(t *testing.T, dir string, o belay.Options) *belay.Belay {
	t.Helper()
	b, err := belay.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func exec(command string) phases.Invocation {
	args, _ := json.Marshal(map[string]any{"tool": "exec", "call_id": "c-1", "args": map[string]string{"command": command}})
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "s-1", Agent: "coder", Run: "r-1", Action: args}
}

func TestAdHocHook(t *testing.T) {
	b := open(t, t.TempDir(), belay.Options{Hooks: []belay.AdHocHook{{Path: example("command-block")}}})
	for command, want := range map[string]phases.Decision{"rm -rf /": phases.Block, "ls -la": phases.Allow} {
		v, err := b.Invoke(t.Context(), exec(command))
		if err != nil {
			t.Fatalf("%s: %v %+v", command, err, v)
		}
		if v.Decision != want {
			t.Errorf("%s: %s (%s), want %s", command, v.Decision, v.Reason, want)
		}
		es, err := b.Events(t.Context(), kernel.EventQuery{Invocation: v.ID})
		if err != nil || len(es) != 2 || es[1].Seq != v.Event.Seq || es[1].ID != v.Event.ID {
			t.Errorf("%s: events %+v, %v, verdict's is %+v", command, es, err, v.Event)
		}
	}
}
