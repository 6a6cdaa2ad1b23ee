package kernel_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// goHooks loads hooks that are written in Go: a kernel.Loader.
type goHooks struct{}

func (goHooks) Load(context.Context, kernel.BindingSpec) (*kernel.Loaded, error) {
	return &kernel.Loaded{Hook: noRm{}, Digest: "sha256:" + strings.Repeat("0", 64), Version: "1.0.0",
		Tier: phases.Sandboxed, Phases: []phases.Phase{phases.PreTool}, Capabilities: []string{"block"}}, nil
}

// noRm blocks every action that holds rm -rf: a kernel.Hook.
type noRm struct{}

func (noRm) Run(_ context.Context, turn kernel.Turn) (kernel.Outcome, error) {
	var out kernel.Outcome
	if strings.Contains(string(turn.Session.Action), "rm -rf") {
		out.Effects = []phases.Effect{{Kind: phases.EffectBlock, Text: "rm -rf is not for agents"}}
	}
	return out, nil
}

// noSecrets finds nothing to redact: a kernel.Redactor of a program without secrets.
type noSecrets struct{}

func (noSecrets) JSON(raw jsontext.Value) (jsontext.Value, []string, error) { return raw, nil, nil }
func (noSecrets) Text(s string) (string, error)                             { return s, nil }

// A program that brings its own parts opens a kernel on them. Most programs open package
// belay instead, which wires all parts from a state directory.
func Example() {
	ctx := context.Background()
	k, err := kernel.Open(ctx, &kernel.Config{Revision: "1", Bindings: []kernel.BindingSpec{{Name: "no-rm"}}},
		kernel.Options{Store: memory.New(), Loader: goHooks{}, Redactor: noSecrets{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	for _, command := range []string{"ls", "rm -rf /"} {
		v, err := k.Invoke(ctx, phases.Invocation{Phase: phases.PreTool, Runtime: "my-agent", Session: "s-1",
			Action: jsontext.Value(`{"tool":"exec","args":{"command":"` + command + `"}}`)})
		fmt.Println(v.Decision, v.Reason, err)
	}
	// Output:
	// allow  <nil>
	// block rm -rf is not for agents <nil>
}
