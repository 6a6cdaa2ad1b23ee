package harness_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/harness"
	"github.com/belay-hooks/belay/phases"
)

const guard = "../examples-wasm/command-guard/command-guard.wasm"

// A host that has a Recorder records its decisions. Later the same invocations show
// whether another version of a hook would decide otherwise.
func Example() {
	ctx := context.Background()
	var file bytes.Buffer
	if err := record(ctx, &file); err != nil {
		fmt.Println(err)
		return
	}
	module, err := os.ReadFile(guard)
	if err != nil {
		fmt.Println(err)
		return
	}
	o := harness.ReplayOptions{Modules: [][]byte{module}, Compare: "decision"}
	res, err := harness.Replay(ctx, o, &file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Invocations, "invocations,", res.Flips, "flips")
	// Output: 1 invocations, 0 flips
}

// record has a host decide one command and records it.
func record(ctx context.Context, file *bytes.Buffer) error {
	dir, err := os.MkdirTemp("", "harness-example-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := harness.Record(file, harness.RecordOptions{UnsafePlaintext: true}) // or Recipients: age1…
	if err != nil {
		return err
	}
	host, err := belay.Open(ctx, dir, belay.Options{Hooks: []belay.AdHocHook{{Path: guard}}, Recorder: r})
	if err != nil {
		return err
	}
	_, err = host.Invoke(ctx, phases.Invocation{
		Phase: phases.PreTool, Runtime: "example", Session: "s-1",
		Action: jsontext.Value(`{"tool":"bash","args":{"command":"rm -rf /"}}`),
	})
	if err != nil {
		fmt.Println(err) // the block
	}
	if err := host.Close(); err != nil {
		return err
	}
	return r.Close()
}

// A hook's folder holds its module and its cases.
func ExampleRun() {
	o := harness.RunOptions{Only: regexp.MustCompile("^removing the root$")}
	res, err := harness.Run(context.Background(), o, "../examples-wasm/command-guard")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range res.Cases {
		fmt.Println(c.Name+":", c.Status+",", c.Verdict.Reason)
	}
	// Output: removing the root: pass, rm would delete / (fs-destroy)
}
