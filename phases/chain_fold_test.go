package phases

import "github.com/go-json-experiment/json/jsontext"

// fold turns a list of turns into a verdict: NewChain, Add for each, Result.
func fold(inv Invocation, md Metadata, ceiling Scopes, turns []Turn) (Verdict, error) {
	c, err := NewChain(inv, md, ceiling)
	if err != nil {
		return Verdict{}, err
	}
	for _, t := range turns {
		c.Add(t)
	}
	return c.Result(), nil
}

// checkScopes ends the chain in a block if the action as it stands is outside of the
// scopes as they stand, or if that cannot be told and they restrict. It is for runtimes
// that do not enforce scopes, after the last hook. See the function CheckScopes.
func (c *Chain) checkScopes() TurnResult {
	if c.stopped {
		return TurnResult{Stop: true, Discarded: true}
	}
	inv := c.inv
	inv.Scopes = Scopes{} // whatever runs the action can reach everything
	err := CheckScopes(inv, c.state.action, c.state.scopes)
	if err == nil {
		return TurnResult{Decision: HookNone}
	}
	f := faultOf(err)
	c.block(kernelName, f.Text, f.Kind)
	return TurnResult{Decision: HookBlock, Reason: f.Text, Kind: f.Kind, Stop: true}
}

// checkAction is DecodeAction for callers who need no typed value.
func checkAction(p Phase, raw jsontext.Value) error {
	_, err := DecodeAction(p, raw)
	return err
}
