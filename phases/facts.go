package phases

import "github.com/go-json-experiment/json/jsontext"

// facts are what is read off one action of a chain, each worked out when it is first needed. They stay while the
// action stays.
type facts struct {
	checked Checked // may be about the action

	action *Strict // in room
	room   Strict
	named  bool
	tool   string
	names  []string
	one    [1]string      // names, where it is the tool's own alone
	judged jsontext.Value // as in the input document; nil: nothing to say

	digested  bool
	digest    string
	digestErr error
}

// name works out what the action is about.
func (f *facts) name(inv *Invocation) {
	if f.named {
		return
	}
	f.named = true
	if f.tool = f.checked.Tool(inv); f.tool == "" {
		return
	}
	if inv.plainExec(f.tool) {
		f.one[0] = f.tool
		f.names = f.one[:]
		return
	}
	j := inv.judge(f.tool)
	f.names, f.judged = append([]string{f.tool}, j.as...), j.document()
}

// Action is the action as it stands.
func (c *Chain) Action() *Strict {
	if c.facts.action == nil {
		c.facts.action = &c.facts.room
		c.facts.room.raw = trim(c.state.action)
	}
	return c.facts.action
}

// Tool is Invocation.Tool of the action as it stands.
func (c *Chain) Tool() string {
	view := c.View()
	c.facts.name(&view)
	return c.facts.tool
}

// ToolNames is Invocation.ToolNames of the action as it stands. The caller changes nothing in the slice.
func (c *Chain) ToolNames() []string {
	view := c.View()
	c.facts.name(&view)
	return c.facts.names
}

// digest is ActionDigest of the action as it stands, which is strict: it was checked, and so was the result of each
// effect.
func (c *Chain) digest() (string, error) {
	f := c.facts
	if !f.digested {
		f.digested = true
		f.digest, f.digestErr = c.buffers.digestStrict(c.inv.Phase, c.state.action, c.facts.checked)
	}
	return f.digest, f.digestErr
}

// Document is the input document for a hook that is asked now (see the function Document). It is built anew only after
// action, scopes or metadata have changed. The error is a *DecodeError of metadata that the chain was given.
func (c *Chain) Document() (*Strict, error) { return c.documentFor(&c.document, false) }

// DocumentApart is Document for a hook that is kept apart: it has what such hooks have annotated, too.
func (c *Chain) DocumentApart() (*Strict, error) {
	if !c.state.metadata.hasApart() {
		return c.Document()
	}
	return c.documentFor(&c.apart, true)
}

func (c *Chain) documentFor(built **Strict, apart bool) (*Strict, error) {
	if *built != nil {
		return *built, nil
	}
	if !c.bagChecked {
		if err := c.state.metadata.Validate(); err != nil { // it came with NewChain; what hooks write is checked there
			return nil, err
		}
		c.bagChecked = true
	}
	view := c.View()
	c.facts.name(&view)
	raw, err := document(view, c.state.metadata, c.facts.judged, apart)
	if err != nil {
		return nil, err
	}
	*built = &Strict{raw: raw}
	return *built, nil
}

// changed drops what no longer holds after a turn.
func (c *Chain) changed(before chainState, annotated bool) {
	action := string(before.action) != string(c.state.action)
	if action {
		c.facts = new(facts)
	} else {
		c.state.action = before.action // the memory that the facts are about
	}
	if action || annotated || !before.scopes.Equal(c.state.scopes) {
		c.document, c.apart = nil, nil
	}
}
