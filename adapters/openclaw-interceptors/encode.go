package openclawinterceptors

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// Encode turns the verdicts of an event into its output, with what belay changes in it. Answer.Notes has
// the lines that an interceptor host prints when it is verbose: a blocked call, a changed message,
// changed parameters, and nothing else.
func (a adapter) Encode(ev adapters.Event, verdicts []phases.Verdict) adapters.Answer {
	info, known := events()[ev.Name]
	p, o, err := payload.Weigh(ev, verdicts, table(), known)
	if err != nil {
		return a.Failure(ev.Payload, ev.Options, err)
	}
	output, _ := p.Optional("output")
	input, _ := p.Optional("input")
	tool, _ := phases.GetString(input, "/toolName")
	next := output
	if o.Decision != phases.Block {
		var why string
		if next, why = changed(o, ev.Name, output); why != "" {
			o.Stop(why)
		}
	}
	if o.Decision == phases.Block {
		ans := blockForm(ev.Name, info, tool, o.Reason)
		if o.Latched {
			ans.Latch = ""
		}
		ans.Notes, ans.Session = append(o.Notes, ans.Notes...), ev.Session
		return ans
	}
	notes := append(o.Notes, verbose(ev.Name, output, next)...)
	return payload.OneLine(adapters.Answer{Stdout: next.Clone(), Notes: notes, Session: ev.Session})
}

// changed is the output with the verdicts' changes. why is not "" when the draft has no place for one.
func changed(o *adapters.Outcome, event string, output jsontext.Value) (next jsontext.Value, why string) {
	if o.Retry != "" {
		return nil, "a hook wants another try, which interceptors cannot carry"
	}
	next = output.Clone()
	for step, ptrs := range o.Changed {
		for _, ptr := range ptrs {
			const notTaken = "a hook changed something of this event that interceptors do not take back"
			value, _ := phases.Get(o.Finals[step], ptr)
			path, ok := pathOf(event, step, ptr, value)
			if !ok {
				return nil, notTaken
			}
			if path == "/args" || path == "/result" { // as one: a member that was taken out is gone
				value, _ = phases.Get(o.Finals[step], path)
			}
			set, err := phases.Set(next, path, value)
			if err != nil {
				return nil, notTaken
			}
			next = set
		}
	}
	if text := o.TakeContext(); strings.TrimSpace(text) != "" {
		message, _ := phases.GetString(next, "/message")
		set, err := phases.Set(next, "/message", payload.Quote(message+"\n\n"+text))
		if err != nil {
			return nil, "the message has no place for a text"
		}
		next = set
	}
	return next, ""
}

// pathOf returns where in the output a change of the action stands.
func pathOf(event string, step int, ptr string, value jsontext.Value) (path string, ok bool) {
	text := value.Kind() == '"'
	word, _ := payload.StringOf(value)
	switch {
	case event == "message.before":
		return "/message", ptr == "/text" && text
	case event == "params.before":
		switch ptr {
		case "/model":
			return "/model", text && word != ""
		case "/params/think_level":
			return "/thinkLevel", slices.Contains([]string{"off", "low", "medium", "high"}, word)
		case "/params/reasoning_level":
			return "/reasoningLevel", slices.Contains([]string{"off", "on"}, word)
		case "/params/temperature":
			return "/temperature", value.Kind() == '0'
		}
		return "", false
	case step > 0:
		return "/args/task", ptr == "/child/prompt" && text && strings.TrimSpace(word) != ""
	case event == "tool.before":
		return "/args", phases.Covers("/args", ptr) && (ptr != "/args" || value.Kind() == '{')
	}
	return "/result", phases.Covers("/result", ptr) && (ptr != "/result" || value != nil)
}

// verbose are the lines of a verbose host.
func verbose(event string, before, after jsontext.Value) []string {
	differs := func(at string) bool {
		a, had := phases.Get(before, at)
		b, has := phases.Get(after, at)
		return had != has || had && len(phases.Diff(a, b)) > 0
	}
	switch event {
	case "message.before":
		if differs("/message") {
			return []string{"message.before: the message was changed"}
		}
	case "params.before":
		var names []string
		for _, name := range []string{"provider", "model", "thinkLevel", "reasoningLevel", "temperature"} {
			if differs("/" + name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return []string{"params.before: changed: " + strings.Join(names, ", ")}
		}
	}
	return nil
}

// blockForm is the one place where a block is written down.
func blockForm(event string, info eventInfo, tool, reason string) adapters.Answer {
	o := new(payload.Object)
	var notes []string
	switch event {
	case "tool.before":
		o.Boolean("block", true).Str("blockReason", reason)
		notes = []string{"tool.before: blocked " + phases.SafeLine(tool, phases.MaxIDBytes) + ": " + reason}
	case "tool.after":
		o.Raw("result", blockedResult(tool, reason))
	case "message.before": // the model reads the reason in place of what was said
		o.Str("message", reason)
	}
	ans := payload.OneLine(adapters.Answer{Stdout: o.Value(), Notes: notes})
	if !info.blocks {
		ans.Latch = reason
	}
	return ans
}

// blockedResult is the result that the model gets of a call that was blocked.
func blockedResult(tool, reason string) jsontext.Value {
	return new(payload.Object).Str("status", "blocked").Str("tool", tool).Str("reason", reason).Value()
}

// Failure returns the block form of the payload's event for anything that went wrong before there was
// a verdict. It works on any bytes.
func (adapter) Failure(b []byte, opts adapters.Options, cause error) adapters.Answer {
	reason := adapters.Reason("", adapters.SafeReason(cause), "no decision could be made")
	event := opts.Event
	if event == "" {
		event = adapters.TextOf("event", b, opts)
	}
	tool, _ := phases.GetString(b, "/input/toolName")
	ans := blockForm(event, events()[event], tool, reason)
	ans.Stderr, ans.Exit, ans.Session = reason, 2, adapters.SessionOf(adapter{}, b, opts)
	return ans
}
