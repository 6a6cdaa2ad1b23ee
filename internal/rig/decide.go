package rig

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// chainBudget stands for the time of a chain, which nothing here counts: fuel bounds a turn.
const chainBudget = 365 * 24 * time.Hour

// Options are the parts of a Rig. Config and Loader are needed.
type Options struct {
	Config *kernel.Config // Open sets its ChainBudget
	Loader kernel.Loader  // is asked for each binding
	// Wrap returns the hook that the kernel runs in place of the loaded one.
	Wrap func(kernel.BindingSpec, *kernel.Loaded) kernel.Hook

	Store    kernel.Store    // nil: the empty store of Rig.Empty
	Redactor kernel.Redactor // nil: Plain
	Tools    kernel.ToolExecutor
	Files    kernel.FileSystem
	Home     string // the meaning of ~ to path_resolve; "" means unknown

	Time    time.Time     // of the clock until the first Case
	ID      string        // of every invocation and event; "" counts them from 1
	Ceiling time.Duration // of a turn, by the clock; 0 means kernel.ToolCeiling

	UnsafeFailOpen bool
	Logger         *slog.Logger // nil discards
}

// Rig is a kernel with its surroundings. It decides one Case at a time.
type Rig struct {
	*kernel.Kernel
	empty *swapStore
	id    string

	mu       sync.Mutex // a turn that was left behind may still ask for the time
	now      time.Time
	ids      int
	record   bool
	recorded *kernel.Recording
}

// Open loads the hooks. The caller closes the Rig. A hook that cannot be loaded blocks its
// phases; Kernel.Hooks says so.
func Open(ctx context.Context, o Options) (*Rig, error) {
	r := &Rig{empty: &swapStore{memory.New()}, id: o.ID, now: o.Time}
	if o.Store == nil {
		o.Store = r.empty
	}
	if o.Redactor == nil {
		o.Redactor = Plain{}
	}
	o.Config.ChainBudget = chainBudget
	var err error
	r.Kernel, err = kernel.Open(ctx, o.Config, kernel.Options{
		Store: o.Store, Loader: wrappingLoader{o.Loader, o.Wrap}, Redactor: o.Redactor, Recorder: recorder{r},
		Clock: clock{r}, Boot: clock{r}, NewID: r.newID, Tools: o.Tools, Files: o.Files, Home: o.Home,
		LeaseKey: make([]byte, 32), Sequential: true, Untimed: cmp.Or(o.Ceiling, kernel.ToolCeiling),
		UnsafeFailOpen: o.UnsafeFailOpen, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Empty gives the kernel an empty store in memory, and counts ids from 1 again. Beside its
// store a kernel has only its configuration. It is for a Rig without Options.Store, between
// two Cases.
func (r *Rig) Empty() kernel.Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.empty.Store, r.ids = memory.New(), 0
	return r.empty
}

// Case is one invocation with all that its decision depends on. The hooks read its time as
// the time.
type Case struct {
	Invocation phases.Invocation
	Options    kernel.InvokeOptions // Seed and HookClock come from the other members
	Seed       [32]byte
	Clock      time.Time // zero: the time of the Case before
	Record     bool      // for Recorded
}

// Decide decides a Case. The error is that of Kernel.InvokeWith. Where Kernel.Overran has
// an error afterwards, the verdict says nothing about the hooks, and the Rig is not used
// again.
func (r *Rig) Decide(ctx context.Context, c Case) (phases.Verdict, error) {
	r.mu.Lock()
	if !c.Clock.IsZero() {
		r.now = c.Clock
	}
	r.record, r.recorded = c.Record, nil
	r.mu.Unlock()
	c.Options.Seed = &c.Seed
	c.Options.KeepTime(&c.Invocation)
	return r.InvokeWith(ctx, c.Invocation, c.Options)
}

// Recorded returns the recording of the last Case; nil when the kernel refused it before any
// hook, and without Case.Record.
func (r *Rig) Recorded() *kernel.Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recorded
}

func (r *Rig) newID(time.Time) string {
	if r.id != "" {
		return r.id
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids++
	return fmt.Sprintf("00000000-0000-7000-8000-%012x", r.ids)
}
