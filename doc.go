// Package belay is the way in for programs that host hooks: it wires
// configuration, keys, redaction, the sandbox, the store and the kernel from one
// state directory. It decides in which order they open and close, and what of them
// a reload replaces. Package kernel decides what an action comes to.
//
// It never decides on its own that an action may go on: without a configuration
// it does not open, and whatever fails later comes back as a block.
//
// # Usage
//
//	b, err := belay.Open(ctx, dir, belay.Options{})
//	if err != nil { … }
//	defer b.Close()
//	g := guard.New(b, guard.Options{Runtime: "my-agent", Session: "s-1"})
//	done, err := g.Tool(ctx, call, run) // an error means that it may not happen
//
// Package guard does what verdicts say. A caller of Invoke does that itself: unless the
// verdict is an allow, nothing happens, also whenever there is an error; and it runs
// Verdict.Action, not the action that it asked about. The kernel has held it to Verdict.Scopes,
// unless InvokeOptions.HoldsScopes says that the caller does. Nothing that it does with
// its own buffers changes Verdict.Action: the kernel copies its input first.
package belay
