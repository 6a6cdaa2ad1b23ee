//go:build agents

package agents_test

import (
	"strings"
	"sync"
)

// Call is one call of a tool that the scripted model makes.
type Call struct {
	Tool  string // of the client
	Space string // the namespace in which the client offers it, or ""
	Input any    // the arguments; a string for a tool that takes free text
}

// Turn is one answer of the model: calls, or a text that ends the turn.
type Turn struct {
	Calls   []Call
	Text    string
	Compact bool // the answer to a request for a compaction
	Tokens  int  // that the model says it has read; 0: a few
}

// Script answers conversations. Each conversation whose first prompt contains Prompt gets the Turns one after
// the other, and then the text "done".
type Script struct {
	Prompt string
	Turns  []Turn
	On     func(turn int) // called before turn is answered; may be nil
}

// Heard is what the model was sent, as far as tests look at it.
type Heard struct {
	mu   sync.Mutex
	all  []string // whole requests
	outs []string // outputs of tools
}

func (h *Heard) add(request string, outputs []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, request)
	for _, o := range outputs {
		if len(h.outs) == 0 || !contains(h.outs, o) {
			h.outs = append(h.outs, o)
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Requests returns how many requests came.
func (h *Heard) Requests() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// All returns the requests.
func (h *Heard) All() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.all...)
}

// Has reports whether the text stands in anything that the model was sent.
func (h *Heard) Has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.all {
		if strings.Contains(r, text) {
			return true
		}
	}
	return false
}

// Outputs returns the outputs of tools, each once.
func (h *Heard) Outputs() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.outs, "\n")
}
