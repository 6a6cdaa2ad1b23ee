// Package guard is the easy way to do what a verdict says. A Guard asks a host
// before each step of an agent, waits for a person where hooks ask for one, and
// decides what a program may do then: exactly the action of the verdict, or nothing.
//
// An error means that the step may not happen, or that its outcome may not be used.
// The package never runs anything beside an error, never runs anything twice, never
// runs the requested action instead of the decided one, and starts no goroutines.
//
//	g := guard.New(host, guard.Options{Runtime: "my-agent", Session: "s-1", Wait: 5 * time.Minute})
//	done, err := g.Tool(ctx, call, func(ctx context.Context, call phases.PreToolAction, _ phases.Scopes) (any, error) {
//		return tools.Run(ctx, call.Args) // as the hooks left it
//	})
//	if err != nil { … }    // it did not run, or its result is withheld: tell the model why
//	use(done.Action.Result) // as the hooks left it
//
// Send and Receive do the same for a model's requests and answers, Plan for what comes
// in, Spawn for child agents, and Transition for changes of state.
package guard
