//go:build agents

package agents_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Responses is a scripted server of the Responses API. It refuses the websocket that Codex tries first with
// status 426, so that Codex falls back to server-sent events.
type Responses struct {
	*httptest.Server
	Heard

	mu      sync.Mutex
	scripts []Script
	turns   map[string]int // by conversation
}

func newResponses(t *testing.T, scripts ...Script) *Responses {
	r := &Responses{scripts: scripts, turns: map[string]int{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// item is the part of an input item that the server looks at.
type item struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
}

func (s *Responses) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		w.WriteHeader(http.StatusUpgradeRequired)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"models":[],"data":[]}`)
		return
	}
	var req struct {
		Input []item `json:"input"`
		Key   string `json:"prompt_cache_key"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	var outputs []string
	prompts := ""
	for _, it := range req.Input {
		if strings.HasSuffix(it.Type, "_output") {
			outputs = append(outputs, string(it.Output))
		}
		if it.Type == "message" && it.Role == "user" || it.Type == "agent_message" || it.Type == "" {
			prompts += string(it.Content)
		}
	}
	s.add(string(body), outputs)
	key := req.Key // of the session; a subagent is a thread of its own in it
	if m := threadID.FindStringSubmatch(string(body)); m != nil {
		key = m[1]
	}
	turn, n := s.next(key, prompts)
	fill := strings.NewReplacer(`"`+Session+`"`, last(sessionID, body, "0"), Agent, last(agentID, body, ""))
	s.answer(w, turn, fmt.Sprintf("%s-%d", key, n), fill)
}

var (
	// threadID is how Codex names a thread in what it tells about the turn.
	threadID  = regexp.MustCompile(`\\"thread_id\\":\\"([^"\\]+)`)
	sessionID = regexp.MustCompile(`session ID (\d+)`)
	agentID   = regexp.MustCompile(`\\"agent_id\\":\\"([^"\\]+)`)
)

// last returns what the pattern found last in the request, or the default.
func last(pattern *regexp.Regexp, body []byte, or string) string {
	m := pattern.FindAllSubmatch(body, -1)
	if m == nil {
		return or
	}
	return string(m[len(m)-1][1])
}

// next returns the turn that the conversation is at.
func (s *Responses) next(key, prompts string) (Turn, int) {
	s.mu.Lock()
	n := s.turns[key]
	s.turns[key]++
	s.mu.Unlock()
	for _, script := range s.scripts {
		if !strings.Contains(prompts, script.Prompt) {
			continue
		}
		if script.On != nil {
			script.On(n)
		}
		if n < len(script.Turns) {
			return script.Turns[n], n
		}
		break
	}
	return Turn{Text: "done"}, n
}

// Session stands for the number of the session that the client named last, in the input of write_stdin, and
// Agent for the subagent that it named last.
const (
	Session = "$SESSION"
	Agent   = "$AGENT"
)

func (s *Responses) answer(w http.ResponseWriter, turn Turn, id string, fill *strings.Replacer) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, v map[string]any) {
		v["type"] = kind
		b, _ := json.Marshal(v)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	send("response.created", map[string]any{"response": map[string]any{"id": "resp_" + id}})
	for i, c := range turn.Calls {
		call := fmt.Sprintf("call_%s_%d", id, i)
		v := map[string]any{"call_id": call, "id": "fc_" + call, "name": c.Tool}
		if text, ok := c.Input.(string); ok {
			v["type"], v["input"] = "custom_tool_call", text
		} else {
			args, _ := json.Marshal(c.Input)
			v["type"] = "function_call"
			v["arguments"] = fill.Replace(string(args))
		}
		if c.Space != "" {
			v["namespace"] = c.Space
		}
		send("response.output_item.done", map[string]any{"item": v})
	}
	switch {
	case turn.Compact:
		send("response.output_item.done", map[string]any{"item": map[string]any{"type": "compaction",
			"encrypted_content": "summary"}})
	case turn.Text != "":
		send("response.output_item.done", map[string]any{"item": map[string]any{"type": "message", "role": "assistant",
			"id": "msg_" + id, "content": []any{map[string]any{"type": "output_text", "text": turn.Text}}}})
	}
	tokens := max(turn.Tokens, 2)
	send("response.completed", map[string]any{"response": map[string]any{"id": "resp_" + id,
		"usage": map[string]any{"input_tokens": tokens - 1, "input_tokens_details": nil, "output_tokens": 1,
			"output_tokens_details": nil, "total_tokens": tokens}}})
}
