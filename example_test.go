package belay_test

import (
	"context"
	"fmt"
	"os"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/phases"
)

// A program that runs tools for an agent asks before each one, and runs what the
// verdict says instead of what was asked for.
func Example() {
	dir, err := os.MkdirTemp("", "belay-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	b, err := belay.Open(ctx, dir, belay.Options{
		Hooks: []belay.AdHocHook{{Path: "examples-wasm/command-block/command-block.wasm"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()

	for _, action := range []string{
		`{"tool":"exec","args":{"command":"ls -la"}}`,
		`{"tool":"exec","args":{"command":"rm -rf /"}}`,
	} {
		v, err := b.Invoke(ctx, phases.Invocation{
			Phase: phases.PreTool, Runtime: "my-agent", Session: "s-1", Action: []byte(action),
		})
		if err != nil { // beside a block: something failed
			fmt.Println("failure:", err)
		}
		switch v.Decision {
		case phases.Allow:
			fmt.Printf("run %s\n", v.Action)
		case phases.Ask:
			fmt.Printf("ask a person: %s\n", v.Reason)
		default:
			fmt.Printf("blocked by %s, kind %s\n", v.DecidedBy, v.Kind)
		}
	}
	// Output:
	// run {"tool":"exec","args":{"command":"ls -la"}}
	// blocked by command-block, kind policy
}
