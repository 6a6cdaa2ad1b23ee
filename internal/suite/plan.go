package suite

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// plan is a case made ready to run.
type plan struct {
	hook    loader.BenchHook
	before  []phases.Invocation
	inv     phases.Invocation
	options kernel.InvokeOptions
	seed    [32]byte
	answers *answers
	state   map[string][]byte
	carried *kernel.RunState // nil: nothing
	sealed  bool             // all of this is of a sealed recording
}

// plan makes a case ready.
func (c *Case) plan(h *Hook) (*plan, error) {
	p := &plan{
		hook: loader.BenchHook{Name: h.name, Module: h.module, Tier: phases.Sandboxed, Config: c.Config,
			MemoryMiB: c.Budget.MemoryMiB},
		// A case is about the hook's decision: the runtime holds an action to its scopes.
		options: kernel.InvokeOptions{HoldsScopes: true},
		seed:    seedOf(c.Name), answers: newAnswers(c.Stubs, c.Injected), state: map[string][]byte{},
	}
	if c.suite != nil {
		p.hook.Tier = cmp.Or(c.suite.Tier, phases.Sandboxed)
	}
	if c.Capabilities != nil {
		p.hook.Allowed = append([]string{}, *c.Capabilities...)
	}
	var err error
	if c.Recording != "" {
		if err := c.fromRecording(p, h); err != nil {
			return nil, err
		}
	} else if p.inv, err = c.Invocation(); err != nil {
		return nil, c.errorf("/action", "%v", err)
	}
	for i, in := range c.Before {
		inv, err := in.Invocation()
		if err != nil {
			return nil, c.errorf(fmt.Sprintf("/before/%d", i), "%v", err)
		}
		p.before = append(p.before, inv)
	}
	for i := range c.Stubs {
		if s := &c.Stubs[i]; s.Call == callState && len(s.Reply) > 0 {
			p.state[s.key()] = s.value()
		}
	}
	return p, nil
}

// prepare writes the state that the hook finds when the case begins, with a notice that
// says so: no row that restricts changes without an event.
func (p *plan) prepare(ctx context.Context, store kernel.Store) error {
	b := kernel.Batch{Now: p.inv.Time}
	for _, k := range sortedKeys(p.state) {
		b.StateWrites = append(b.StateWrites, kernel.StateWrite{Namespace: p.hook.Name, Key: k, Value: p.state[k]})
	}
	if p.carried != nil {
		b.Run = &kernel.RunWrite{Key: p.inv.RunKey(), Metadata: p.carried.Metadata, Retries: p.carried.Retries}
	}
	if len(b.StateWrites) == 0 && b.Run == nil {
		return nil
	}
	b.Events = []phases.Event{{ID: "case", Type: phases.EventNotice, Time: p.inv.Time, Reason: "state of a test case"}}
	_, err := store.Commit(ctx, b)
	return err
}

// fromRecording takes invocation, configuration, the host's answers and the carried state
// of the run from a recording.
func (c *Case) fromRecording(p *plan, h *Hook) error {
	path := c.Recording
	if c.suite != nil && !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(c.suite.file), path)
	}
	run, chain, sealed, err := readRun(path, c.Recording, max(c.Number, 1), h.engine.o.Identities)
	if err != nil {
		return c.errorf("/recording", "%v", err)
	}
	p.sealed = sealed
	if p.inv, err = run.Decode(); err != nil {
		return c.errorf("/recording", "the invocation is not valid: %v", err)
	}
	p.options = run.Options.InvokeOptions()
	if run.Seed != "" {
		seed, err := hex.DecodeString(run.Seed)
		if err != nil || len(seed) != len(p.seed) {
			return c.errorf("/recording", "its seed is not valid")
		}
		copy(p.seed[:], seed)
	}
	carried := run.Carried.RunState()
	if len(carried.Metadata)+len(carried.Retries) > 0 {
		p.carried = &carried
	}
	b, err := bindingOf(run, chain, h)
	if err != nil {
		return c.errorf("/recording", "%v", err)
	}
	if b == nil {
		return nil
	}
	p.hook.Name = b.Name
	if len(p.hook.Config) == 0 {
		p.hook.Config = jsontext.Value(b.Config)
	}
	for i := range run.Turns {
		if t := &run.Turns[i]; t.Binding == b.Name {
			p.takeTurn(t)
		}
	}
	return nil
}

// takeTurn takes the answers of a recorded turn, and the calls that were made to fail.
func (p *plan) takeTurn(t *recording.Turn) {
	p.answers.record(t.Answers)
	p.answers.fail.record(t)
	for i := range t.Answers {
		if a := &t.Answers[i]; a.Port == hostcalls.PortState && a.Version != 0 {
			if key := string(a.Request.Complete()); p.state[key] == nil {
				p.state[key] = a.Reply.Complete()
			}
		}
	}
}

// readRun finds an invocation of a recording. name is how errors call it.
func readRun(path, name string, number int,
	ids recording.Identities) (run *recording.Run, chain *recording.Chain, sealed bool, err error) {
	f, err := files.Stream(path)
	if err != nil {
		return nil, nil, false, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	src, how := recording.Look(f)
	switch sealed = how != recording.Plain; {
	case how == recording.ForPassphrase:
		return nil, nil, sealed,
			fmt.Errorf("%s is sealed with a passphrase: tests open recordings that are sealed for a key", name)
	case sealed && len(ids) == 0:
		return nil, nil, sealed,
			fmt.Errorf("%s is sealed, and no identity was given (belay test --identity FILE, harnesstest.Identity)", name)
	case sealed:
		if src, err = recording.Unseal(src, name, ids); err != nil {
			return nil, nil, sealed, err
		}
	}
	r, err := recording.NewReader(src, name)
	if err != nil {
		return nil, nil, sealed, err
	}
	if r.Header().Redacted {
		return nil, nil, sealed, fmt.Errorf("%s was made from stored events: it holds no inputs", name)
	}
	for n := 1; ; n++ {
		run, chain, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil, sealed, fmt.Errorf("%s holds %d invocations, not %d", name, n-1, number)
		case err != nil:
			return nil, nil, sealed, err
		case n == number:
			return run, chain, sealed, nil
		}
	}
}

// bindingOf finds the hook in a recorded configuration: by its module, its name, or
// because it is the only one that ran. nil: it was not there.
func bindingOf(run *recording.Run, chain *recording.Chain, h *Hook) (*recording.Binding, error) {
	if chain == nil {
		return nil, nil
	}
	digest := h.Digest()
	for _, is := range []func(*recording.Binding) bool{
		func(b *recording.Binding) bool { return b.Digest == digest },
		func(b *recording.Binding) bool { return b.Name == h.name },
	} {
		var found []*recording.Binding
		for i := range chain.Bindings {
			if is(&chain.Bindings[i]) {
				found = append(found, &chain.Bindings[i])
			}
		}
		if len(found) > 1 {
			return nil, fmt.Errorf("the hook is bound there as %s and as %s", found[0].Name, found[1].Name)
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	var ran []string
	for _, t := range run.Turns {
		if !slices.Contains(ran, t.Binding) {
			ran = append(ran, t.Binding)
		}
	}
	if len(ran) == 1 {
		for i := range chain.Bindings {
			if chain.Bindings[i].Name == ran[0] {
				return &chain.Bindings[i], nil
			}
		}
	}
	return nil, fmt.Errorf("no hook of that module or called %s ran there: %s did", h.name, strings.Join(ran, ", "))
}
