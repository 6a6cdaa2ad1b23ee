package replay

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// AloneHook is a hook that decides recorded invocations by itself.
type AloneHook struct {
	Module  []byte
	Binding recording.Binding // that it would have: name, phases, allowed, configuration, budget
	Match   *tiers.Match      // nil: the manifest's
}

// Alone asks one hook about recorded invocations, each by itself: with the original input
// and the carried state of its run, and without the hooks that were there then. The hook
// gets the recorded answers of a hook of the same name. Every other
// state is absent, and every other call is unavailable. It is for one goroutine.
type Alone struct {
	r    *Replayer
	hook AloneHook
}

// OpenAlone loads the hook. The error is ErrCandidate when it cannot be loaded; its
// Text says why. The bench is closed by the caller, after the Alone.
func OpenAlone(ctx context.Context, bench *loader.Bench, h AloneHook) (*Alone, error) {
	b := &h.Binding
	b.Digest, b.Mode, b.Failure = phases.ByteDigest(h.Module), phases.Enforce, nil
	load := loader.BenchHook{Name: b.Name, Module: h.Module, Tier: b.Tier, Config: jsonValue(b.Config),
		MemoryMiB: b.Budget.MemoryMiB}
	if b.Allowed != nil {
		load.Allowed = *b.Allowed
	}
	loaded, err := bench.Load(ctx, load)
	if err != nil {
		text := err.Error()
		var f *phases.Fault
		if errors.As(err, &f) {
			text = f.Text
			if f.Cause != nil {
				text += " (" + f.Cause.Error() + ")"
			}
		}
		return nil, &Error{Class: ErrCandidate, Text: phases.SafeLine(text, 600), Cause: err}
	}
	b.Match = loaded.Match
	if h.Match != nil {
		b.Match = *h.Match
	}
	r, err := New(Options{Bench: bench, Modules: map[string][]byte{b.Digest: h.Module}, Mode: Decision})
	if err != nil {
		return nil, err
	}
	return &Alone{r: r, hook: h}, nil
}

// Close closes the kernels that Ask has opened.
func (a *Alone) Close() error { return a.r.Close() }

// Ask asks the hook about one invocation. chain gives the ceiling of scopes and the meaning
// of ~; its hooks do not matter. A Result without turns means that the hook does not serve
// such an invocation. The error is that of Replayer.Replay.
func (a *Alone) Ask(ctx context.Context, run *recording.Run, chain *recording.Chain) (*Result, error) {
	one := *run
	one.Latch, one.Turns = nil, nil // a latch is not the hook's doing
	for _, t := range run.Turns {
		if t.Binding == a.hook.Binding.Name && t.Pass != phases.PassAudit && t.Ran {
			t.Report, t.Injected, t.Fault, t.Budget = recording.Report{}, nil, nil, 0 // its answers, and nothing else
			one.Turns = append(one.Turns, t)
		}
	}
	with := &recording.Chain{Revision: chain.Revision, Ceiling: chain.Ceiling, Home: chain.Home,
		Bindings: []recording.Binding{a.hook.Binding}}
	res, err := a.r.Replay(ctx, &one, with)
	if err != nil {
		return nil, err
	}
	var now []TurnResult
	for _, t := range res.Turns {
		if t.Now != nil {
			t.Base = nil
			now = append(now, t)
		}
	}
	res.Turns = now
	return res, nil
}
