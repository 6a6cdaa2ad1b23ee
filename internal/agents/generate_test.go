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

// Generate is a scripted server of the Gemini API: streamed answers for the conversation, and one fixed text for
// requests beside it.
type Generate struct {
	*httptest.Server
	Heard

	mu      sync.Mutex
	scripts []Script
	turns   map[string]int // by the prompt of the script
}

func newGenerate(t *testing.T) *Generate {
	g := &Generate{turns: map[string]int{}}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *Generate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string `json:"text"`
				Response *struct {
					Response json.RawMessage `json:"response"`
				} `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
	}
	if r.Method != http.MethodPost || json.Unmarshal(body, &req) != nil {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"models":[]}`)
		return
	}
	var outputs []string
	prompts := ""
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if p.Response != nil {
				outputs = append(outputs, string(p.Response.Response))
			} else if c.Role == "user" {
				prompts += p.Text + "\n"
			}
		}
	}
	g.add(string(body), outputs)
	if !strings.Contains(r.URL.Path, ":streamGenerateContent") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(generated(Turn{Text: "{}"}))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\r\n\r\n", generated(g.next(prompts)))
}

// next returns the turn that the conversation is at.
func (g *Generate) next(prompts string) Turn {
	for _, s := range g.scripts {
		if !strings.Contains(prompts, s.Prompt) {
			continue
		}
		g.mu.Lock()
		n := g.turns[s.Prompt]
		g.turns[s.Prompt]++
		g.mu.Unlock()
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

// generated is the turn as the API writes it.
func generated(turn Turn) []byte {
	var parts []any
	if turn.Text != "" {
		parts = append(parts, map[string]any{"text": turn.Text})
	}
	for _, c := range turn.Calls {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"name": c.Tool, "args": c.Input}})
	}
	n := max(turn.Tokens, 2)
	b, _ := json.Marshal(map[string]any{
		"candidates": []any{map[string]any{"content": map[string]any{"role": "model", "parts": parts},
			"finishReason": "STOP", "index": 0}},
		"usageMetadata": map[string]any{"promptTokenCount": n - 1, "candidatesTokenCount": 1, "totalTokenCount": n}})
	return b
}
