package hostcalls_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// A Loader of one's own gives each turn a session, and answers each call of the guest with Do.
func ExampleSession_Do() {
	granted, err := hostcalls.ParseGrants([]string{"block"})
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := hostcalls.NewSession(hostcalls.SessionConfig{
		Phase:   phases.PreTool,
		Pass:    phases.PassMutate,
		Input:   []byte(`{"phase":"pre_tool","tool":"exec","args":{"command":"rm -rf /"}}`),
		Action:  []byte(`{"tool":"exec","args":{"command":"rm -rf /"}}`),
		Actor:   phases.Actor{Hook: "guard", Tier: phases.Sandboxed},
		Granted: granted,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	get, _ := hostcalls.Lookup("input_get")
	answer, err := session.Do(context.Background(), &get, &hostcalls.Args{In: [2][]byte{[]byte("/args/command")}})
	fmt.Println(string(answer.Out), err)

	block, _ := hostcalls.Lookup("block")
	answer, err = session.Do(context.Background(), &block, &hostcalls.Args{In: [2][]byte{[]byte("removes every file")}})
	fmt.Println(answer.Code, err, session.Effects()[0].Kind)

	rewrite, _ := hostcalls.Lookup("rewrite")
	answer, err = session.Do(context.Background(), &rewrite,
		&hostcalls.Args{In: [2][]byte{[]byte("/args/command"), []byte(`"ls"`)}})
	fmt.Println(hostcalls.Errno(answer.Code).String(), err)
	what, legal, _ := strings.Cut(session.Poison().Text, "; ") // one effect that is refused fails the turn
	fmt.Println(what)
	fmt.Println(legal)
	// Output:
	// rm -rf / <nil>
	// 0 <nil> block
	// denied <nil>
	// the hook asked for something that it may not do: rewrite in the phase pre_tool: denied, not admitted
	// legal here: block, ask, rewrite, redact, clamp, annotate, context, grant
}
