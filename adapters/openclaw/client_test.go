package openclaw_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// answer is what the plugin reads.
type answer struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Set      []struct {
		Path  *string         `json:"path"`
		Value json.RawMessage `json:"value"`
	} `json:"set"`
}

// readAnswer reads an answer as strictly as the plugin does.
func readAnswer(b []byte) (answer, error) {
	var a answer
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, err
	}
	switch {
	case a.Decision == "block" && strings.TrimSpace(a.Reason) == "":
		return a, errors.New("a block without a reason")
	case a.Decision == "allow" && a.Reason != "", a.Decision != "block" && a.Decision != "allow":
		return a, fmt.Errorf("no decision: %q", a.Decision)
	case len(a.Set) > 1 || len(a.Set) == 1 && (a.Set[0].Path == nil || *a.Set[0].Path != "" || len(a.Set[0].Value) == 0):
		return a, errors.New("more than the one value that the plugin returns")
	}
	return a, nil
}

// value is what the plugin returns to OpenClaw, or nil.
func (a answer) value() jsontext.Value {
	if len(a.Set) == 0 {
		return nil
	}
	return jsontext.Value(a.Set[0].Value)
}

// effect is what OpenClaw does with the value that the plugin returns.
type effect struct {
	held    bool           // the action does not happen, or nothing of what it said is left
	asked   bool           // the person is asked
	goesOn  bool           // the agent makes one more pass
	payload jsontext.Value // with what was changed in it
}

// react does what OpenClaw's hook runner does (version 2026.9.6), which takes values of other types for
// nothing. A hook without a form of its own cannot hold anything up.
func react(hook string, payload []byte, ans adapters.Answer) effect {
	e := effect{payload: jsontext.Value(payload)}
	a, err := readAnswer(ans.Stdout)
	if err != nil {
		return e
	}
	v := a.value()
	isTrue := func(at string) bool { b, _ := phases.Get(v, at); return b.Kind() == 't' }
	text := func(at string) string { s, _ := phases.GetString(v, at); return s }
	put := func(at, from string) {
		if value, ok := phases.Get(v, from); ok {
			e.payload, _ = phases.Set(e.payload, at, value)
		}
	}
	switch hook {
	case "before_tool_call":
		_, e.asked = phases.Get(v, "/requireApproval")
		e.held = isTrue("/block")
		params, _ := phases.Get(v, "/params") // laid over those of the model
		var members map[string]json.RawMessage
		if json.Unmarshal(params, &members) == nil {
			for name := range members {
				put(phases.Join("/event/params", name), phases.Join("/params", name))
			}
		}
	case "before_install":
		e.held = isTrue("/block")
	case "before_agent_run": // what is no decision blocks
		e.held = v != nil && text("/outcome") != "pass"
	case "before_agent_reply", "inbound_claim", "before_dispatch", "reply_dispatch":
		e.held = isTrue("/handled")
	case "message_sending":
		e.held = isTrue("/cancel")
		put("/event/content", "/content")
	case "reply_payload_sending":
		e.held = isTrue("/cancel")
		put("/event/payload", "/payload")
	case "before_agent_finalize":
		e.goesOn = text("/action") == "revise"
	case "skill_proposal_evaluate":
		e.held = text("/decision") == "block"
	case "subagent_spawning":
		e.held = text("/status") == "error"
	case "agent_tool_result":
		put("/event/result", "/result")
		e.held = text("/result/details/status") == "blocked"
	case "tool_result_persist", "before_message_write":
		put("/event/message", "/message")
		e.held = a.Decision == "block" && v != nil
	case "before_model_resolve":
		put("/event/model", "/modelOverride")
	}
	return e
}

// said are the texts of a message or of a result.
func said(v jsontext.Value) (out []string) {
	var walk func(v jsontext.Value)
	walk = func(v jsontext.Value) {
		switch v.Kind() {
		case '"':
			var s string
			if json.Unmarshal(v, &s) == nil && len(s) > 3 {
				out = append(out, s)
			}
		case '{', '[':
			var members map[string]json.RawMessage
			var list []json.RawMessage
			if json.Unmarshal(v, &members) == nil {
				for name, m := range members {
					if !slices.Contains([]string{"type", "role", "id", "name"}, name) {
						walk(jsontext.Value(m))
					}
				}
			} else if json.Unmarshal(v, &list) == nil {
				for _, m := range list {
					walk(jsontext.Value(m))
				}
			}
		}
	}
	walk(v)
	return out
}

// held reports whether what a hook blocked does not happen, and nothing of a text is left.
func held(hook string, payload []byte, ans adapters.Answer) bool {
	e := react(hook, payload, ans)
	if ans.Latch != "" {
		return true
	}
	at := map[string]string{"agent_tool_result": "/event/result", "tool_result_persist": "/event/message/content",
		"before_message_write": "/event/message/content"}[hook]
	if at == "" || !e.held {
		return e.held
	}
	before, _ := phases.Get(payload, at)
	after, _ := phases.Get(e.payload, at)
	for _, s := range said(before) {
		if slices.Contains(said(after), s) {
			return false
		}
	}
	return true
}
