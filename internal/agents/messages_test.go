//go:build agents

package agents_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Messages is a scripted server of the Messages API, with server-sent events.
type Messages struct {
	*httptest.Server
	Heard

	mu      sync.Mutex
	scripts []Script
	turns   map[string]int // by the prompt of the script
	answers int
}

func newMessages(t *testing.T) *Messages {
	m := &Messages{turns: map[string]int{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// said is one message of a request.
type said struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// parts returns what the message holds, also where it is one text alone.
func (m said) parts() (texts string, outputs []string) {
	var list []struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
		Error   bool            `json:"is_error"`
	}
	if json.Unmarshal(m.Content, &list) != nil {
		_ = json.Unmarshal(m.Content, &texts)
		return texts, nil
	}
	for _, p := range list {
		switch p.Type {
		case "text":
			texts += p.Text + "\n"
		case "tool_result":
			out := string(p.Content)
			if p.Error {
				out = "error: " + out
			}
			outputs = append(outputs, out)
		}
	}
	return texts, outputs
}

func (m *Messages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"input_tokens":1,"data":[]}`)
		return
	}
	var req struct {
		Stream   bool              `json:"stream"`
		Tools    []json.RawMessage `json:"tools"`
		Messages []said            `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	var outputs []string
	prompts := ""
	for _, s := range req.Messages {
		texts, out := s.parts()
		outputs = append(outputs, out...)
		if s.Role == "user" {
			prompts += texts
		}
	}
	m.add(string(body), outputs)
	turn := Turn{Text: "done"}
	if len(req.Tools) > 0 { // without tools the client wants a title or a count
		turn = m.next(prompts)
	}
	m.mu.Lock()
	m.answers++
	n := m.answers
	m.mu.Unlock()
	m.answer(w, turn, n, req.Stream)
}

// next returns the turn that the conversation is at.
func (m *Messages) next(prompts string) Turn {
	for _, s := range m.scripts {
		if !strings.Contains(prompts, s.Prompt) {
			continue
		}
		m.mu.Lock()
		n := m.turns[s.Prompt]
		m.turns[s.Prompt]++
		m.mu.Unlock()
		if s.On != nil {
			s.On(n)
		}
		if n < len(s.Turns) {
			return s.Turns[n]
		}
		break
	}
	return Turn{Text: "done"}
}

// answer sends the n-th answer of the server.
func (m *Messages) answer(w http.ResponseWriter, turn Turn, n int, stream bool) {
	usage := map[string]any{"input_tokens": max(turn.Tokens, 1), "output_tokens": 1}
	message := map[string]any{"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant",
		"model": "claude-scripted", "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if !stream {
		message["content"], message["stop_reason"] = []any{map[string]any{"type": "text", "text": turn.Text}}, "end_turn"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, v map[string]any) {
		v["type"] = kind
		b, _ := json.Marshal(v)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	at := 0
	block := func(start, delta map[string]any) {
		send("content_block_start", map[string]any{"index": at, "content_block": start})
		send("content_block_delta", map[string]any{"index": at, "delta": delta})
		send("content_block_stop", map[string]any{"index": at})
		at++
	}
	stop := "end_turn"
	send("message_start", map[string]any{"message": message})
	if turn.Text != "" || len(turn.Calls) == 0 {
		block(map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": turn.Text})
	}
	for i, c := range turn.Calls {
		input, _ := json.Marshal(c.Input)
		block(map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%03d_%d", n, i), "name": c.Tool,
			"input": map[string]any{}}, map[string]any{"type": "input_json_delta", "partial_json": string(input)})
		stop = "tool_use"
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 1}})
	send("message_stop", map[string]any{})
}
