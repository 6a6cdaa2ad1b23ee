package replay

import (
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

// calls compares the calls of a turn with the recorded ones while they are made.
type calls struct {
	want  []recording.Call
	made  int
	wrong int              // index of the first call that differs; -1: none
	rest  *hostcalls.Trace // the calls from there on
}

func newCalls(want []recording.Call) *calls { return &calls{want: want, wrong: -1} }

// Called implements hostcalls.Tap.
func (c *calls) Called(call *hostcalls.Call, a *hostcalls.Args, r hostcalls.Result, reply []byte, err error) {
	i := c.made
	c.made++
	if c.rest == nil {
		if i < len(c.want) && isCall(&c.want[i], call, a, r, reply, err) {
			return
		}
		c.wrong, c.rest = i, new(hostcalls.Trace)
	}
	c.rest.Called(call, a, r, reply, err)
}

func isCall(w *recording.Call, call *hostcalls.Call, a *hostcalls.Args, r hostcalls.Result, reply []byte,
	err error) bool {
	if w.Name != call.Name || w.I32 != a.I32 || w.Cap != a.Cap || w.Code != r.Code || w.Fuel != r.Fuel ||
		!w.Out.Is(r.Out) {
		return false
	}
	in := hostcalls.Inputs(call, a)
	if len(in) != len(w.In) {
		return false
	}
	for i := range in {
		if !w.In[i].Is(in[i]) || a.Long[i] != (i < len(w.Long) && w.Long[i]) {
			return false
		}
	}
	if call.Replies && !w.Reply.Is(reply) {
		return false
	}
	var kind phases.Kind
	if f := phases.FaultOf(err); f != nil {
		kind = f.Kind
	}
	return kind == w.Fault
}

// difference says how the calls differ; nil when they do not. prefix: the recorded
// turn was cut short, so that more calls are no difference.
func (c *calls) difference(where string, prefix bool) *Difference {
	at := func(i int) string { return fmt.Sprintf("%s, call %d", where, i+1) }
	switch {
	case c.wrong < 0 && c.made < len(c.want):
		return &Difference{What: WhatMissing, Where: at(c.made), Want: callText(&c.want[c.made]), Got: "the turn ended"}
	case c.wrong < 0:
		return nil
	case c.wrong >= len(c.want):
		if prefix {
			return nil
		}
		return &Difference{What: WhatExtra, Where: at(c.wrong), Want: "the turn ended", Got: c.restText(0)}
	}
	d := &Difference{What: WhatCall, Where: at(c.wrong), Want: callText(&c.want[c.wrong]), Got: c.restText(0)}
	switch {
	case d.Want == d.Got: // the call is the same, its answer is not
		d.Want, d.Got = d.Want+answerText(&c.want[c.wrong]), d.Got+c.restAnswer(0)
		if d.Want == d.Got { // the texts do not show the difference
			now := recording.CallOf(&c.rest.Calls[0])
			d.Want, d.Got = d.Want+restOf(&c.want[c.wrong]), d.Got+restOf(&now)
		}
	case !c.rest.Incomplete && len(c.rest.Calls) == len(c.want)-c.wrong && c.sameInAnotherOrder():
		d.What = WhatReordered
	}
	return d
}

func (c *calls) sameInAnotherOrder() bool {
	count := map[string]int{}
	for i := c.wrong; i < len(c.want); i++ {
		count[callText(&c.want[i])]++
	}
	for i := range c.rest.Calls {
		key := c.restText(i)
		if count[key]--; count[key] < 0 {
			return false
		}
	}
	return true
}

func (c *calls) restText(i int) string {
	call := recording.CallOf(&c.rest.Calls[i])
	return callText(&call)
}

func (c *calls) restAnswer(i int) string {
	call := recording.CallOf(&c.rest.Calls[i])
	return answerText(&call)
}

// callText shows a call with its arguments on one line.
func callText(c *recording.Call) string {
	var args []string
	for i := range c.In {
		args = append(args, c.In[i].String())
	}
	return phases.SafeLine(c.Name+"("+strings.Join(args, ", ")+")", 300)
}

// restOf shows the price of a call and its buffer.
func restOf(c *recording.Call) string {
	s := fmt.Sprintf(", for %d fuel, with a buffer of %d bytes and the argument %d", c.Fuel, c.Cap, c.I32)
	if c.Fault != "" {
		s += ", ended by " + string(c.Fault)
	}
	return s
}

func answerText(c *recording.Call) string {
	s := fmt.Sprintf(" = %d", c.Code)
	if c.Code < 0 {
		s = " = " + hostcalls.Errno(c.Code).String()
	}
	if c.Out != nil {
		s += " " + c.Out.String()
	}
	if c.Reply != nil {
		s += " reply " + c.Reply.String()
	}
	return phases.SafeLine(s, 300)
}
