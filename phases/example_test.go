package phases_test

import (
	"errors"
	"fmt"

	"github.com/belay-hooks/belay/phases"
)

// An invocation is read strictly, judged against scopes, and named by the digest of its action.
func Example() {
	inv, err := phases.DecodeInvocation([]byte(`{
		"phase": "pre_tool", "runtime": "my-agent", "session": "s1", "agent": "main",
		"action": {"tool": "Read", "args": {"file_path": "/etc/shadow"}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	inv, err = phases.Normalize(inv)
	fmt.Println(inv.Tool(), err)

	err = phases.CheckScopes(inv, inv.Action, phases.Scopes{FSRead: phases.Scope{"/srv/project/**"}})
	fmt.Println(errors.Is(err, phases.ErrOutside), err)

	same := inv
	same.Action = []byte(`{"tool":"read","native_tool":"Read","args":{"file_path":"\/etc\/shadow"},"call_id":"7"}`)
	first, _ := phases.ActionDigest(inv)
	second, _ := phases.ActionDigest(same)
	fmt.Println(first == second)

	_, err = phases.DecodeInvocation([]byte(`{"phase": "pre_tool", "phase": "audit"}`))
	fmt.Println(errors.Is(err, phases.ErrDecode))
	// Output:
	// read <nil>
	// true fs_read: a path is not in scope
	// true
	// true
}
