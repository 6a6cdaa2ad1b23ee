package codex_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// effect is what Codex does with an answer, as it was measured.
type effect struct {
	blocked bool // the event does not happen: no tool, no request to the model
	stopped bool // the turn ends
	goesOn  bool // a stop that does not stop: the agent works on
	granted bool // the permission prompt is skipped
	failed  bool // the hook counts as failed, and the event goes on as if there were none
	input   any  // with which the tool runs
	output  any  // that the model reads
	context string
}

// schemaFile names the schema of an event's output; Codex has none for the events of formSilent.
func schemaFile(event string) string {
	var name strings.Builder
	for i, r := range event {
		if i > 0 && r >= 'A' && r <= 'Z' {
			name.WriteByte('-')
		}
		name.WriteRune(r)
	}
	return filepath.Join("testdata", "schemas", strings.ToLower(name.String())+".command.output.schema.json")
}

func silent(event string) bool {
	return event == "SessionEnd" || event == "PreModelRequest" || event == "PostModelRequest"
}

// client holds the compiled schemas.
type client struct{ schemas map[string]*jsonschema.Schema }

func newClient(t testing.TB) *client {
	t.Helper()
	c := &client{schemas: map[string]*jsonschema.Schema{}}
	for _, s := range samples(t) {
		if silent(s.Event) || c.schemas[s.Event] != nil {
			continue
		}
		schema, err := jsonschema.NewCompiler().Compile(schemaFile(s.Event))
		if err != nil {
			t.Fatal(err)
		}
		c.schemas[s.Event] = schema
	}
	return c
}

// valid reports whether Codex reads the output at all: any object for events without a schema, "" always.
func (c *client) valid(event string, out []byte) error {
	if len(bytes.TrimSpace(out)) == 0 || c.schemas[event] == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		return err
	}
	return c.schemas[event].Validate(v)
}

// react returns what the client does. payload is the event's own.
func (c *client) react(event string, payload []byte, ans adapters.Answer) effect {
	p := parseObject(payload)
	e := effect{input: p["tool_input"], output: p["tool_response"]}
	switch {
	case ans.Exit == 2 && strings.TrimSpace(ans.Stderr) != "":
		switch event {
		case "PreToolUse", "PermissionRequest", "UserPromptSubmit":
			e.blocked = true
		case "PostToolUse":
			e.output = strings.TrimSpace(ans.Stderr)
		case "Stop", "SubagentStop":
			e.goesOn = true
		default:
			e.failed = true
		}
		return e
	case ans.Exit != 0:
		e.failed = true
		return e
	}
	m := parseObject(ans.Stdout)
	if len(ans.Stdout) > 0 && m == nil || c.valid(event, ans.Stdout) != nil {
		e.failed = true
		return e
	}
	specific, _ := m["hookSpecificOutput"].(map[string]any)
	text := func(m map[string]any, name string) string {
		s, _ := m[name].(string)
		return strings.TrimSpace(s)
	}
	stop := m["continue"] == false
	switch event {
	case "PreToolUse":
		c.preTool(&e, m, specific, text)
		if e.failed {
			return e
		}
	case "PermissionRequest":
		d, _ := specific["decision"].(map[string]any)
		switch {
		case stop || m["stopReason"] != nil || m["suppressOutput"] == true || d["interrupt"] == true ||
			d["updatedInput"] != nil || d["updatedPermissions"] != nil:
			e.failed = true
			return e
		case d["behavior"] == "deny":
			e.blocked = true
		case d["behavior"] == "allow":
			e.granted = true
		}
	case "SubagentStart", "Interrupt":
		e.context = text(specific, "additionalContext")
		return e // nothing else is read
	case "PostToolUse":
		switch {
		case stop:
			if e.output = text(m, "reason"); e.output == "" {
				e.output = text(m, "stopReason")
			}
		case m["suppressOutput"] == true || m["decision"] == "block" && text(m, "reason") == "" ||
			m["decision"] == nil && m["reason"] != nil:
			e.failed = true
			return e
		case m["decision"] == "block":
			e.output = m["reason"]
		}
	default:
		switch {
		case silent(event):
			return e
		case stop:
			e.stopped = true
			e.blocked = event == "UserPromptSubmit" || event == "PreCompact"
		case m["decision"] == "block" && text(m, "reason") == "":
			e.failed = true
			return e
		case m["decision"] == "block" && strings.HasSuffix(event, "Stop"):
			e.goesOn = true
		case m["decision"] == "block":
			e.blocked = true
		}
	}
	e.context = text(specific, "additionalContext")
	return e
}

func (c *client) preTool(e *effect, m, specific map[string]any, text func(map[string]any, string) string) {
	decision := specific["permissionDecision"]
	_, rewritten := specific["updatedInput"]
	switch {
	case m["continue"] == false, m["stopReason"] != nil, m["suppressOutput"] == true, m["decision"] == "approve",
		decision == "ask", decision == "allow" && !rewritten, rewritten && decision != "allow",
		decision == nil && specific["permissionDecisionReason"] != nil,
		decision == "deny" && text(specific, "permissionDecisionReason") == "",
		m["decision"] == "block" && text(m, "reason") == "", m["decision"] == nil && m["reason"] != nil:
		e.failed = true
	case decision == "deny" || m["decision"] == "block":
		e.blocked = true
	case decision == "allow":
		e.input, e.granted = specific["updatedInput"], true
	}
}

func parseObject(b []byte) map[string]any {
	var m map[string]any
	if json.Unmarshal(b, &m) != nil {
		return nil
	}
	return m
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return phases.Same(jsontext.Value(x), jsontext.Value(y))
}
