package suite

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// EngineOptions are the parts of an Engine. The zero value works.
type EngineOptions struct {
	// Ceiling is the longest time of one turn; 0 means kernel.ToolCeiling. A case
	// whose turn takes longer could not be run: it has neither passed nor failed.
	Ceiling time.Duration

	// Dir is a state directory whose cache of compiled code is used, and nothing else
	// of it. "" compiles anew.
	Dir string
	// Cover counts which parts of the hooks ran; see Hook.Coverage.
	Cover    bool
	Compiler []string     // see belay.Options
	Logger   *slog.Logger // gets the kernel's log; nil discards it
	// Identities open sealed recordings that cases name. Differences of such cases are
	// redacted, and goldens never hold them.
	Identities recording.Identities
}

// Engine runs cases: one for all of them, so that a module is compiled once. Hooks of
// one Engine may be used at the same time.
type Engine struct {
	bench  *loader.Bench
	redact *redact.Redactor
	o      EngineOptions
}

// OpenEngine returns an engine, to be closed after everything that was loaded on it.
func OpenEngine(o EngineOptions) (*Engine, error) {
	key := make([]byte, 32)
	rand.Read(key) // never fails: the runtime ends the process instead
	red, err := redact.New(redact.Config{Key: key})
	if err != nil {
		return nil, err
	}
	bench, err := loader.OpenBench(loader.BenchOptions{Dir: o.Dir, Cover: o.Cover, Compiler: o.Compiler, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return &Engine{bench: bench, redact: red, o: o}, nil
}

// Close releases the modules.
func (e *Engine) Close() error { return e.bench.Close() }

// Hook is a module that cases are run on. It is safe for concurrent use.
type Hook struct {
	engine *Engine
	name   string
	module []byte

	mu     sync.Mutex
	loaded map[string]loaded     // by keyOf
	idle   map[string][]*caseRig // by keyOf and the budget
}

type loaded struct {
	hook *kernel.Loaded
	err  error
}

// Hook takes a module file. name is of its binding; "" means that of its manifest.
func (e *Engine) Hook(name string, module []byte) *Hook {
	if name == "" {
		name, _ = e.bench.NameOf(module)
	}
	if name == "" {
		name = "hook"
	}
	return &Hook{engine: e, name: name, module: module, loaded: map[string]loaded{}, idle: map[string][]*caseRig{}}
}

// Digest is sha256:<hex> of the module file.
func (h *Hook) Digest() string { return phases.ByteDigest(h.module) }

// keyOf names a binding of the module: its configuration, tier and capabilities.
func keyOf(b loader.BenchHook) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%d\x00%q %t", b.Name, b.Config, b.Tier, b.MemoryMiB, b.Allowed, b.Allowed == nil)
}

// load loads the module as a case binds it, once for each binding.
func (h *Hook) load(ctx context.Context, b loader.BenchHook) (*kernel.Loaded, error) {
	key := keyOf(b)
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.loaded[key]
	if !ok {
		l.hook, l.err = h.engine.bench.Load(ctx, b)
		h.loaded[key] = l
	}
	return l.hook, l.err
}

// Result is the result of one case.
type Result struct {
	Case        string
	Line        int            // of the case in its suite
	Verdict     phases.Verdict // of the case's own invocation
	Differences []Difference   // from Want; empty means passed
	Sealed      bool           // the case is of a sealed recording: Verdict holds its originals
}

// Passed reports whether everything was as wanted.
func (r *Result) Passed() bool { return len(r.Differences) == 0 }

// Check says whether the case can be fulfilled by this hook at all, without running
// it: the error names the expectation that cannot.
func (h *Hook) Check(ctx context.Context, c *Case) error {
	p, err := c.plan(h)
	if err != nil {
		return err
	}
	return h.check(ctx, c, p)
}

func (h *Hook) check(ctx context.Context, c *Case, p *plan) error {
	l, err := h.load(ctx, p.hook)
	if err != nil {
		if c.Want.Kind == phases.KindLoad {
			return nil // the case wants it
		}
		member := ""
		if len(c.Config) > 0 {
			bare := p.hook
			bare.Config = nil
			if _, err := h.load(ctx, bare); err == nil {
				member = "/config" // without it the hook loads
			}
		}
		return c.errorf(member, "the hook cannot be loaded: %v", err)
	}
	if err := c.illegal(p.inv.Phase); err != nil {
		return err
	}
	return c.reachable(l, p.inv.Phase)
}

// Run runs one case on a kernel and a store of its own. The error says that the
// case could not be run at all; a case that did not pass has Differences.
func (h *Hook) Run(ctx context.Context, c *Case) (Result, error) {
	res := Result{Case: c.Name, Line: c.Line()}
	p, err := c.plan(h)
	if err != nil {
		return res, err
	}
	if err := h.check(ctx, c, p); err != nil {
		return res, err
	}
	if res.Verdict, err = h.invoke(ctx, c, p); err != nil {
		return res, err
	}
	res.Differences = append(c.Want.Check(res.Verdict), p.answers.unused(c)...)
	if res.Sealed = p.sealed; res.Sealed {
		for i := range res.Differences {
			d := &res.Differences[i]
			d.Want, _ = h.engine.redact.Text(d.Want)
			d.Got, _ = h.engine.redact.Text(d.Got)
		}
	}
	return res, nil
}

// invoke runs the invocations of a case and returns the verdict of the last.
func (h *Hook) invoke(ctx context.Context, c *Case, p *plan) (v phases.Verdict, err error) {
	r, err := h.rig(ctx, c, p)
	if err != nil {
		return v, c.errorf("", "%v", err)
	}
	defer func() {
		if r.Overran() == nil { // else something of it still runs
			h.giveBack(r)
		}
	}()
	r.answers = p.answers
	if err := p.prepare(ctx, r.Empty()); err != nil {
		return v, c.errorf("", "its state cannot be set up: %v", err)
	}
	for i, in := range append(p.before, p.inv) {
		r.answers.own = i == len(p.before)
		seed := p.seed
		seed[0] += byte(len(p.before) - i)
		v, err = r.Decide(ctx, rig.Case{Invocation: in, Options: p.options, Seed: seed, Clock: in.Time})
		if v.Decision == "" {
			return v, c.errorf("", "%v", err)
		}
		if err := r.Overran(); err != nil {
			return phases.Verdict{}, c.errorf("", "it could not be run: %v", err)
		}
	}
	return v, ctx.Err()
}

// seedOf makes the same random bytes for the same case every time.
func seedOf(name string) [32]byte { return sha256.Sum256([]byte("belay test\x00" + name)) }
