package claudecode_test

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

// A daemon has a hook event of Claude Code decided by the kernel, and writes the answer to the
// client's standard output.
func Example() {
	payload := []byte(`{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"default",
		"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /"},"tool_use_id":"t"}`)
	answer, err := adapters.Run(context.Background(), claudecode.New(), payload, adapters.Options{},
		func(_ context.Context, step adapters.Step) (phases.Verdict, error) {
			tool := step.Invocation.Tool()
			return phases.Verdict{Phase: step.Invocation.Phase, Decision: phases.Block,
				DecidedBy: "guard", Reason: tool + " may not remove every file"}, nil
		})
	decision, _ := phases.GetString(answer.Stdout, "/hookSpecificOutput/permissionDecision")
	reason, _ := phases.GetString(answer.Stdout, "/hookSpecificOutput/permissionDecisionReason")
	fmt.Println(decision, answer.Exit, err)
	fmt.Println(reason)
	// Output:
	// deny 0 <nil>
	// belay (guard): exec may not remove every file
}
