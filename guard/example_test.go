package guard_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/guard"
	"github.com/belay-hooks/belay/phases"
)

// agent is a program that runs commands for a model.
type agent struct {
	host *belay.Belay
	run  func(ctx context.Context, args jsontext.Value) (string, error)
}

// bash is the tool of that name. docs/EMBED.md shows its body.
func (a *agent) bash(ctx context.Context, args jsontext.Value) string {
	g := guard.New(a.host, guard.Options{Runtime: "my-agent", Session: "s-1", Wait: 5 * time.Minute})

	call := phases.PreToolAction{Tool: "bash", Args: args}
	done, err := g.Tool(ctx, call, func(ctx context.Context, call phases.PreToolAction, _ phases.Scopes) (any, error) {
		return a.run(ctx, call.Args) // as the hooks left them; called once, or not at all
	})
	if err != nil {
		return err.Error() // it may not happen, and why: for the model
	}
	return string(done.Action.Result) // as the hooks left it; with IsError when run failed
}

func Example() {
	dir, err := os.MkdirTemp("", "belay-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	host, err := belay.Open(ctx, dir, belay.Options{
		Hooks: []belay.AdHocHook{{Path: "../examples-wasm/command-guard/command-guard.wasm"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()

	a := &agent{host: host, run: func(_ context.Context, args jsontext.Value) (string, error) {
		return "ran " + string(args), nil
	}}
	fmt.Println(a.bash(ctx, jsontext.Value(`{"command":"ls -la"}`)))
	fmt.Println(a.bash(ctx, jsontext.Value(`{"command":"rm -rf /"}`)))
	// Output:
	// "ran {\"command\":\"ls -la\"}"
	// guard: blocked: pre_tool: rm would delete / (fs-destroy)
}

// A child agent is held to what its parent may touch, and to less where a hook says so.
func ExampleGuard_Spawn() {
	g := guard.New(&fakeHost{}, guard.Options{Agent: "main", Scopes: phases.Scopes{FSRead: phases.Scope{"/src/**"}}})
	child, spawned, err := g.Spawn(context.Background(), phases.SpawnAction{Child: phases.Child{Agent: "reviewer"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spawned.Action.Child.Agent, "at depth", spawned.Action.Depth)
	read := phases.PreToolAction{Tool: "read", Args: jsontext.Value(`{"path":"/etc/passwd"}`)}
	_, err = child.Tool(context.Background(), read, nil)
	fmt.Println(errors.Is(err, guard.ErrBlocked))
	// Output:
	// reviewer at depth 1
	// true
}
