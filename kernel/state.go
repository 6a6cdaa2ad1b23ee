package kernel

import (
	"context"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// stateReader shows one hook its own namespace.
type stateReader struct {
	store     Store
	namespace string
}

func (r *stateReader) Get(ctx context.Context, key string) ([]byte, int64, error) {
	v, err := r.store.HookState(ctx, r.namespace, key)
	return v.Value, v.Version, err
}

func (r *stateReader) Usage(ctx context.Context) (keys, bytes int, err error) {
	u, err := r.store.StateUsage(ctx, r.namespace)
	return u.Keys, int(u.Bytes), err
}

var _ hostcalls.StateReader = (*stateReader)(nil)

// takeState takes over what a turn that succeeded read and wrote, for the
// commit. Text is redacted like everything else that is stored; binary values are
// the hook's own encoding and are kept.
func (c *chain) takeState(binding *binding, outcome *Outcome) {
	if len(outcome.StateReads)+len(outcome.StateWrites) == 0 {
		return
	}
	ns := namespace(binding)
	written := map[string]bool{}
	for _, w := range c.stateWrites {
		if w.Namespace == ns {
			written[w.Key] = true
		}
	}
	for _, r := range outcome.StateReads {
		k := stateKey{ns, r.Key}
		if c.stateNow[k] {
			continue // the first read of the invocation is the one that has to hold
		}
		if c.stateNow == nil {
			c.stateNow = map[stateKey]bool{}
		}
		c.stateNow[k] = true
		c.stateReads = append(c.stateReads, StateRead{Namespace: ns, Key: r.Key, Version: r.Version})
	}
	for _, w := range outcome.StateWrites {
		sw := StateWrite{Namespace: ns, Key: w.Key, Value: w.Value, Delete: w.Delete}
		if err := c.invocation.redactState(&sw); err != nil {
			c.stateFailed(binding, err)
			return
		}
		if written[w.Key] { // a mutator that was called again: its later word counts
			c.stateWrites = dropWrite(c.stateWrites, ns, w.Key)
		}
		c.stateWrites = append(c.stateWrites, sw)
	}
}

// stateFailed blocks: what cannot be redacted is not stored, and a hook whose
// state is lost has not done its work.
func (c *chain) stateFailed(b *binding, err error) {
	f := phases.NewFault(phases.KindAudit, "a hook's state could not be redacted", err)
	c.words.Fail(b.spec.Name, f)
	c.fault = f
}

func dropWrite(list []StateWrite, ns, key string) []StateWrite {
	out := list[:0]
	for _, w := range list {
		if w.Namespace != ns || w.Key != key {
			out = append(out, w)
		}
	}
	return out
}
