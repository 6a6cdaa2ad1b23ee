package opencode

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Encode turns the verdicts of an event into the answer that belay's plugin carries out: complete
// JSON with exit 0. A block has a reason, an allow has the changes that the plugin makes. What OpenCode
// cannot carry out for this event is a block; a block that the event does not have sets Answer.Latch.
func (a adapter) Encode(ev adapters.Event, verdicts []phases.Verdict) adapters.Answer {
	info, known := events()[ev.Name]
	p, o, err := payload.Weigh(ev, verdicts, table(), known)
	if err != nil {
		return a.Failure(ev.Payload, ev.Options, err)
	}
	output, _ := p.Optional("output")
	list, why := changesOf(o, ev.Name, output)
	if why != "" {
		o.Stop(why)
	}
	if o.Decision == phases.Block {
		ans := blockForm(ev.Name, info, o.Reason)
		if o.Latched {
			ans.Latch = ""
		}
		ans.Notes, ans.Session = o.Notes, ev.Session
		return ans
	}
	top := new(payload.Object).Str("decision", "allow")
	if list != nil {
		top.Raw("set", list)
	}
	if info.form == formReply && o.Grant {
		top.Boolean("grant", true)
	}
	return payload.OneLine(adapters.Answer{Stdout: top.Value(), Notes: o.Notes, Session: ev.Session})
}

// changesOf returns the list of changes in the output of the hook point, nil for none. why is not ""
// when OpenCode would not take them as they are.
func changesOf(o *adapters.Outcome, event string, output jsontext.Value) (list jsontext.Value, why string) {
	if o.Decision == phases.Block {
		return nil, ""
	}
	var c changes
	for step, ptrs := range o.Changed {
		for _, ptr := range ptrs {
			value, _ := phases.Get(o.Finals[step], ptr)
			path, ok := pathOf(event, step, ptr, value, output)
			if !ok {
				return nil, "a hook changed something of this event that OpenCode does not take back"
			}
			c.set(path, value)
		}
	}
	if o.Retry != "" {
		return nil, "a hook wants another try, which OpenCode cannot carry: " + o.Retry
	}
	if event == "tool.execute.after" {
		if why := sameShape(o.Finals[0], output); why != "" {
			return nil, why
		}
	}
	if text := o.TakeContext(); strings.TrimSpace(text) != "" {
		c.context(o, event, output, text)
	}
	return c.value(), ""
}

// changes collects what the plugin changes. A change without a value takes a member out.
type changes struct{ list []byte }

func (c *changes) set(path string, value jsontext.Value) {
	o := new(payload.Object).Str("path", path)
	if value != nil {
		o.Raw("value", value)
	}
	c.list = append(append(c.list, ','), o.Value()...)
}

func (c *changes) value() jsontext.Value {
	if len(c.list) == 0 {
		return nil
	}
	out := append(jsontext.Value("["), c.list[1:]...)
	return append(out, ']')
}

// context puts text for the model behind the text that it reads anyway.
func (c *changes) context(o *adapters.Outcome, event string, output jsontext.Value, text string) {
	switch event {
	case "chat.message":
		parts, _ := phases.Get(output, "/parts")
		if texts, _ := partsOf(parts); len(texts) > 0 {
			at := texts[len(texts)-1]
			said := at.text
			if len(texts) == 1 { // as a hook may have changed it
				said, _ = phases.GetString(o.Finals[0], "/text")
			}
			c.set(phases.Join(phases.Join("/parts", itoa(at.at)), "text"), payload.Quote(said+"\n\n"+text))
			return
		}
	case "tool.execute.after":
		if said, ok := phases.GetString(o.Finals[0], "/result/output"); ok {
			c.set("/output", payload.Quote(said+"\n\n"+text))
			return
		}
	case "experimental.chat.system.transform":
		system, _ := phases.Get(o.Finals[0], "/system")
		var list []byte
		for _, f := range payload.Fields(system) {
			list = append(append(list, f.Value...), ',')
		}
		c.set("/system", append(append([]byte("["), append(list, payload.Quote(text)...)...), ']'))
		return
	}
	o.Notes = append(o.Notes, "contexts were not delivered: this call has no place for them")
}

// blockForm is the one place where a block is written down. What formSet puts in the place of the
// output stands in the answer, so that a reason alone decides what a person reads.
func blockForm(event string, info eventInfo, reason string) adapters.Answer {
	top := new(payload.Object).Str("decision", "block").Str("reason", reason)
	var c changes
	switch event {
	case "experimental.text.complete":
		c.set("/text", payload.Quote(reason))
	case "experimental.compaction.autocontinue":
		c.set("/enabled", jsontext.Value("false"))
	}
	if list := c.value(); list != nil {
		top.Raw("set", list)
	}
	ans := adapters.Answer{Stdout: top.Value()}
	if info.form == formNone {
		ans.Latch = reason
	}
	return ans
}
