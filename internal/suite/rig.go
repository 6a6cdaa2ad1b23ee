package suite

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
)

// caseRig is a kernel with one hook, for one case at a time: to open one costs more than
// a small case.
type caseRig struct {
	*rig.Rig
	key     string
	answers *answers // of the case at hand
}

// rig returns an idle rig with the hook as the case binds it, or a new one.
func (h *Hook) rig(ctx context.Context, c *Case, p *plan) (*caseRig, error) {
	key := fmt.Sprintf("%s\x00%d", keyOf(p.hook), c.Budget.Fuel)
	h.mu.Lock()
	if n := len(h.idle[key]); n > 0 {
		r := h.idle[key][n-1]
		h.idle[key] = h.idle[key][:n-1]
		h.mu.Unlock()
		return r, nil
	}
	h.mu.Unlock()
	r := &caseRig{key: key}
	cfg := &kernel.Config{Revision: "test", Bindings: []kernel.BindingSpec{{
		Name: p.hook.Name, Module: "test", Config: p.hook.Config, Allowed: p.hook.Allowed, Budget: c.Budget,
	}}}
	var err error
	r.Rig, err = rig.Open(ctx, rig.Options{
		Config: cfg, Loader: hookLoader{h, p.hook}, Files: r, Home: "/home/dev",
		Wrap: func(_ kernel.BindingSpec, l *kernel.Loaded) kernel.Hook { return stubbedHook{l.Hook, r} },
		// Events of a case are redacted as on a live host: hooks of the phase audit see them.
		Redactor: audit.NewDetector(h.engine.redact, h.engine.redact), Ceiling: h.engine.o.Ceiling, Logger: h.engine.o.Logger,
	})
	return r, err
}

// giveBack makes a rig idle.
func (h *Hook) giveBack(r *caseRig) {
	r.answers = nil
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle[r.key] = append(h.idle[r.key], r)
}

// hookLoader loads the hook as a case binds it.
type hookLoader struct {
	hook  *Hook
	given loader.BenchHook
}

// Load implements kernel.Loader.
func (l hookLoader) Load(ctx context.Context, _ kernel.BindingSpec) (*kernel.Loaded, error) {
	return l.hook.load(ctx, l.given)
}

// Readlink implements kernel.FileSystem.
func (r *caseRig) Readlink(ctx context.Context, path string) (string, error) {
	return r.answers.Readlink(ctx, path)
}

// stubbedHook runs the module with the case's answers in place of the host's.
type stubbedHook struct {
	inner kernel.Hook
	rig   *caseRig
}

// Run implements kernel.Hook.
func (s stubbedHook) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
	t.Session = s.rig.answers.attach(t.Session)
	return s.inner.Run(ctx, t)
}
