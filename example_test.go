package belay_test

import (
	"context"
	"fmt"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/guard"
	"github.com/belay-hooks/belay/phases"
)

// A program opens a host once, and puts each tool call of its agent through a Guard, which
// runs what the hooks leave of the call, or nothing. Package guard says more.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "belay-example-") // a real program has one directory, made by `belay init`
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	host, err := belay.Open(ctx, dir, belay.Options{
		Hooks: []belay.AdHocHook{{Path: "examples-wasm/command-guard/command-guard.wasm"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()

	g := guard.New(host, guard.Options{Runtime: "my-agent", Session: "s-1"})
	for _, args := range []string{`{"command":"ls -la"}`, `{"command":"rm -rf /"}`} {
		done, err := g.Tool(ctx, phases.PreToolAction{Tool: "bash", Args: jsontext.Value(args)},
			func(_ context.Context, call phases.PreToolAction, _ phases.Scopes) (any, error) {
				return "ran " + string(call.Args), nil
			})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(string(done.Action.Result))
	}
	// Output:
	// "ran {\"command\":\"ls -la\"}"
	// guard: blocked: pre_tool: rm would delete / (fs-destroy)
}
