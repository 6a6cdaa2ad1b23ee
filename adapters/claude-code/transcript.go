package claudecode

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Transcript turns the lines of a transcript that Claude Code keeps of a session into
// the payloads that its hooks would have been given, as far as a transcript tells:
// prompts, tool calls and their results. Lines of other kinds have none. The format is
// the runtime's own and not documented; payloads lack the members that a transcript does not have.
// It is used by one goroutine.
type Transcript struct {
	prompt string                   // id of the prompt that is being answered
	calls  map[string]transcriptUse // tool calls whose result has not come yet
}

// maxPendingCalls bounds what a transcript that never answers makes us keep.
const maxPendingCalls = 1024

type transcriptLine struct {
	Type        string         `json:"type"`
	UUID        string         `json:"uuid"`
	Session     string         `json:"sessionId"`
	CWD         string         `json:"cwd"`
	Meta        bool           `json:"isMeta"`
	Sidechain   bool           `json:"isSidechain"`
	Agent       string         `json:"agentId"`
	Message     jsontext.Value `json:"message"`
	ToolUse     jsontext.Value `json:"toolUseResult"`
	Permissions string         `json:"permissionMode"`
	Rest        jsontext.Value `json:",inline"`
}

type transcriptMessage struct {
	Content jsontext.Value `json:"content"`
	Rest    jsontext.Value `json:",inline"`
}

type transcriptPart struct {
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Input   jsontext.Value `json:"input"`
	UseID   string         `json:"tool_use_id"`
	Content jsontext.Value `json:"content"`
	IsError bool           `json:"is_error"`
	Rest    jsontext.Value `json:",inline"`
}

type transcriptUse struct {
	name  string
	input jsontext.Value
}

// hookPayload is what a hook would have been given.
type hookPayload struct {
	Session     string         `json:"session_id"`
	Transcript  string         `json:"transcript_path"`
	CWD         string         `json:"cwd"`
	Prompt      string         `json:"prompt_id,omitzero"`
	Permissions string         `json:"permission_mode,omitzero"`
	Event       string         `json:"hook_event_name"`
	Text        string         `json:"prompt,omitzero"`
	Tool        string         `json:"tool_name,omitzero"`
	Input       jsontext.Value `json:"tool_input,omitzero"`
	Response    jsontext.Value `json:"tool_response,omitzero"`
	Error       string         `json:"error,omitzero"`
	UseID       string         `json:"tool_use_id,omitzero"`
}

// Line returns the payloads that one line stands for, in order.
func (t *Transcript) Line(line []byte) ([][]byte, error) {
	var l transcriptLine
	if err := json.Unmarshal(line, &l); err != nil {
		return nil, errors.New("not a line of a transcript")
	}
	if l.Meta || l.Message == nil || l.Type != "user" && l.Type != "assistant" {
		return nil, nil
	}
	var m transcriptMessage
	if err := json.Unmarshal(l.Message, &m); err != nil {
		return nil, errors.New("the message is not what a transcript has there")
	}
	parts, err := partsOf(m.Content)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, p := range parts {
		h, ok := t.payload(&l, p)
		if !ok {
			continue
		}
		b, err := json.Marshal(h)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// partsOf reads a message's content, which is a text or a list of parts.
func partsOf(content jsontext.Value) ([]transcriptPart, error) {
	switch content.Kind() {
	case '"':
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, err
		}
		return []transcriptPart{{Type: "text", Text: text}}, nil
	case '[':
		var parts []transcriptPart
		if err := json.Unmarshal(content, &parts); err != nil {
			return nil, errors.New("the content is not what a transcript has there")
		}
		return parts, nil
	}
	return nil, errors.New("the message has no content")
}

func (t *Transcript) payload(l *transcriptLine, p transcriptPart) (hookPayload, bool) {
	h := hookPayload{Session: l.Session, Transcript: "/transcript.jsonl", CWD: l.CWD, Prompt: t.prompt,
		Permissions: "default", UseID: p.ID}
	switch {
	case l.Type == "user" && p.Type == "text" && p.Text != "" && !l.Sidechain:
		// what a subagent is told is no prompt of a person
		t.prompt = l.UUID
		h.Prompt, h.Event, h.Text = l.UUID, "UserPromptSubmit", p.Text
	case l.Type == "assistant" && p.Type == "tool_use" && p.ID != "" && p.Input.Kind() == '{':
		if t.calls == nil || len(t.calls) >= maxPendingCalls {
			t.calls = map[string]transcriptUse{}
		}
		t.calls[p.ID] = transcriptUse{p.Name, p.Input.Clone()}
		h.Event, h.Tool, h.Input = "PreToolUse", p.Name, p.Input
	case l.Type == "user" && p.Type == "tool_result":
		use, ok := t.calls[p.UseID]
		if !ok {
			return h, false
		}
		delete(t.calls, p.UseID)
		h.Event, h.Tool, h.Input, h.UseID = "PostToolUse", use.name, use.input, p.UseID
		if p.IsError {
			h.Event, h.Error = "PostToolUseFailure", textOf(p.Content)
			return h, true
		}
		if h.Response = l.ToolUse; h.Response == nil {
			h.Response = p.Content
		}
		if h.Response == nil {
			h.Response = jsontext.Value(`""`)
		}
	default:
		return h, false
	}
	return h, true
}

// textOf returns a result's text.
func textOf(content jsontext.Value) string {
	parts, err := partsOf(content)
	if err != nil {
		return "error"
	}
	s := ""
	for _, p := range parts {
		s += p.Text
	}
	if s == "" {
		return "error"
	}
	return s
}
