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

// A program that runs tools for an agent puts each of them through a Guard, which runs
// what the hooks leave of a call, and returns what they leave of its result.
func Example() {
	dir, err := os.MkdirTemp("", "belay-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	host, err := belay.Open(ctx, dir, belay.Options{
		Hooks: []belay.AdHocHook{{Path: "examples-wasm/command-block/command-block.wasm"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()

	shell := func(_ context.Context, call phases.PreToolAction, _ phases.Scopes) (any, error) {
		return "ran " + string(call.Args), nil
	}
	for _, args := range []string{`{"command":"ls -la"}`, `{"command":"rm -rf /"}`} {
		fmt.Println(answer(ctx, host, args, shell))
	}
	// Output:
	// "ran {\"command\":\"ls -la\"}"
	// guard: blocked: pre_tool: rm would delete /
}

// answer returns what the agent gets for a command.
func answer(ctx context.Context, host *belay.Belay, args string,
	shell func(context.Context, phases.PreToolAction, phases.Scopes) (any, error),
) string {
	g := guard.New(host, guard.Options{Runtime: "my-agent", Session: "s-1"})
	call := phases.PreToolAction{Tool: "bash", Args: jsontext.Value(args)}
	done, err := g.Tool(ctx, call, shell) // runs shell with the call as the hooks left it, or not at all
	if err != nil {
		return err.Error() // safe to show to the agent
	}
	return string(done.Action.Result) // as the hooks left it
}
