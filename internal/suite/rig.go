package suite

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
)

// endless stands for the chain's time, which a test ignores: fuel bounds a turn.
const endless = 365 * 24 * time.Hour

// caseRig is a kernel with one hook, for one case at a time. Between cases it gets
// another store: what a kernel keeps beside its store is its configuration, which is
// the same for all cases of a rig. To open one costs more than a small case.
type caseRig struct {
	key     string
	hook    *Hook
	given   loader.BenchHook
	kernel  *kernel.Kernel
	store   *swapStore
	answers *answers
	at      time.Time // of the invocation that is running
	ids     int
}

// swapStore is the store of the case that is running.
type swapStore struct{ kernel.Store }

// rig returns an idle rig for what the case gives the hook, or a new one.
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
	r := &caseRig{key: key, hook: h, given: p.hook, store: &swapStore{memory.New()}}
	cfg := &kernel.Config{Revision: "test", ChainBudget: endless, Bindings: []kernel.BindingSpec{{
		Name: p.hook.Name, Module: "test", Config: p.hook.Config, Allowed: p.hook.Allowed, Budget: c.Budget,
	}}}
	var err error
	r.kernel, err = kernel.Open(ctx, cfg, kernel.Options{
		Store: r.store, Loader: r, Redactor: audit.Detector{Redactor: h.engine.redact}, Clock: r, NewID: r.id, Files: r,
		Home:       "/home/dev",
		Sequential: true, Untimed: cmp.Or(h.engine.o.Ceiling, kernel.ToolCeiling), LeaseKey: make([]byte, 32), Boot: r,
		Logger: h.engine.o.Logger,
	})
	return r, err
}

// giveBack keeps a rig for the next case.
func (h *Hook) giveBack(r *caseRig) {
	r.answers = nil
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle[r.key] = append(h.idle[r.key], r)
}

// Load implements kernel.Loader.
func (r *caseRig) Load(ctx context.Context, _ kernel.BindingSpec) (*kernel.Loaded, error) {
	l, err := r.hook.load(ctx, r.given)
	if err != nil {
		return nil, err
	}
	out := *l
	out.Hook = stubbedHook{l.Hook, r}
	return &out, nil
}

// Now implements kernel.Clock: it stands still at the invocation's time.
func (r *caseRig) Now() time.Time { return r.at }

// Boot implements kernel.BootClock: there is none.
func (r *caseRig) Boot() (string, time.Duration) { return "", 0 }

// id counts, so that a case has the same ids every time.
func (r *caseRig) id(time.Time) string {
	r.ids++
	return fmt.Sprintf("00000000-0000-7000-8000-%012x", r.ids)
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
