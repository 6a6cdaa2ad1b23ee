package outside

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Loader is a kernel.Loader of hooks written in Go: by name of the binding, the word in the
// arguments of a tool call that the hook blocks.
type Loader map[string]string

// Load implements kernel.Loader.
func (l Loader) Load(_ context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
	word, ok := l[spec.Name]
	if !ok {
		return nil, phases.NewFault(phases.KindLoad, "there is no hook of that name", nil)
	}
	return &kernel.Loaded{Hook: blocker(word), Digest: "sha256:" + strings.Repeat("0", 64), Version: "1.0.0",
		Tier: phases.Sandboxed, Phases: []phases.Phase{phases.PreTool}, Capabilities: []string{"block"}}, nil
}

// blocker blocks actions that hold the word.
type blocker string

// Run implements kernel.Hook.
func (b blocker) Run(_ context.Context, turn kernel.Turn) (kernel.Outcome, error) {
	out := kernel.Outcome{Fuel: 1}
	if strings.Contains(string(turn.Session.Action), string(b)) {
		out.Effects = []phases.Effect{{Kind: phases.EffectBlock, Text: "it says " + string(b)}}
	}
	return out, nil
}

// Redactor is a kernel.Redactor that knows one secret.
type Redactor string

// JSON implements kernel.Redactor.
func (r Redactor) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	if !strings.Contains(string(raw), string(r)) {
		return raw, nil, nil
	}
	return jsontext.Value(strings.ReplaceAll(string(raw), string(r), "[redacted]")), []string{""}, nil
}

// Text implements kernel.Redactor.
func (r Redactor) Text(s string) (string, error) {
	return strings.ReplaceAll(s, string(r), "[redacted]"), nil
}

// Verifier is a kernel.Verifier that trusts no signer and remembers the files.
type Verifier struct {
	mu    sync.Mutex
	asked []string
}

// Verify implements kernel.Verifier.
func (v *Verifier) Verify(_ context.Context, digest string, _ []byte) (kernel.Proof, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, digest)
	return kernel.Proof{Tier: phases.Sandboxed, Why: fmt.Errorf("this program trusts no signer")}, nil
}

// Asked returns the digests of the files.
func (v *Verifier) Asked() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.asked...)
}

// Tools is a kernel.ToolExecutor with one tool, which answers with its arguments.
type Tools struct{}

// Tools implements kernel.ToolExecutor.
func (Tools) Tools(context.Context) ([]kernel.ToolInfo, error) {
	return []kernel.ToolInfo{{Name: "echo", Description: "answers with its arguments"}}, nil
}

// Call implements kernel.ToolExecutor.
func (Tools) Call(_ context.Context, call kernel.ToolCall) (kernel.ToolResult, error) {
	if call.Tool != "echo" {
		return kernel.ToolResult{}, kernel.ErrNoTool
	}
	return kernel.ToolResult{Result: call.Args}, nil
}

// Recorder is a kernel.Recorder that keeps the actions of one session in memory.
type Recorder struct {
	Session string
	mu      sync.Mutex
	actions []string
}

// Wants implements kernel.Recorder.
func (r *Recorder) Wants(inv *phases.Invocation) bool { return inv.Session == r.Session }

// Recorded implements kernel.Recorder.
func (r *Recorder) Recorded(rec *kernel.Recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actions = append(r.actions, string(rec.Invocation.Action)+" "+string(rec.Verdict.Decision))
}

// Actions returns the recorded actions, each with its decision.
func (r *Recorder) Actions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.actions...)
}

var (
	_ kernel.Loader       = Loader(nil)
	_ kernel.Redactor     = Redactor("")
	_ kernel.Verifier     = (*Verifier)(nil)
	_ kernel.ToolExecutor = Tools{}
	_ kernel.Recorder     = (*Recorder)(nil)
)
