// Package client talks to a running `belay serve`: it brings invocations to the
// daemon and reads the log. It decides nothing; where the daemon cannot be
// reached or does not answer as it should, Invoke returns a block.
//
//	c, err := client.Dial(stateDir)
//	if err != nil { … }                // client.ErrNotRunning: no daemon serves there
//	defer c.Close()
//	v, err := c.Invoke(ctx, phases.Invocation{Phase: phases.PreTool, …})
//	if v.Decision != phases.Allow { … } // also whenever err is not nil
//	run(v.Action)
//
// Over the unix socket the daemon knows the caller by its uid, which is enough to
// ask about actions. Everything else takes the token of a role: Dial reads those
// of the state directory as far as they are there.
package client
