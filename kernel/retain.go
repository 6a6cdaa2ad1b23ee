package kernel

import (
	"context"
	"slices"
	"sync"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Bounds of what a kernel retains of events that it refused; see Retention.
const (
	maxRetainedBytes = 16 << 20 // of all events together
	maxRetained      = 512      // events
	maxRetainedOf    = 32       // events of one session
)

// Retention makes a kernel retain events that it refused for a cause of its own
// (LatchKind.OwnMaking) and that an enforcing hook would have judged. When the cause has
// ended the kernel judges them, and lifts the latch if every hook passes.
//
// Events are retained in memory only, unredacted and complete: at most 512 of together
// 16 MiB, and 32 of one session. What does not fit, and what a process retained that has
// ended, leaves its session latched until a person clears it. It is for the one process
// that serves a store, and not for one that ends after an answer.
type Retention struct {
	// Ready says why an event may not be judged yet. Nil means that it always may.
	Ready func(inv *phases.Invocation) error

	// Credential is what the judged events have as InvokeOptions.Credential.
	Credential string
}

// refused is one event that a kernel retains.
type refused struct {
	id    string       // of the invocation that was refused, as it is recorded
	key   wire.Session // likewise
	why   phases.LatchKind
	of    []phases.Invocation
	size  int64 // bytes
	ready bool  // its latch is recorded or noted: until then there is nothing to lift
}

// retained holds refused events, oldest first. Safe for concurrent use.
type retained struct {
	o    *Retention    // nil: nothing is retained
	turn chan struct{} // held by the one that judges or gives up

	mu    sync.Mutex
	list  []*refused
	bytes int64
}

func newRetained(o *Retention) retained { return retained{o: o, turn: make(chan struct{}, 1)} }

// enter waits for the turn. The error is the context's.
func (r *retained) enter(ctx context.Context) (leave func(), err error) {
	select {
	case r.turn <- struct{}{}:
		return func() { <-r.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// add retains the event, unless it does not fit.
func (r *retained) add(refused *refused) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := 0
	for _, old := range r.list {
		if old.id == refused.id {
			return old.key == refused.key // a record that failed is now a note
		}
		if old.key == refused.key {
			of++
		}
	}
	if of >= maxRetainedOf || len(r.list) >= maxRetained || r.bytes+refused.size > maxRetainedBytes {
		return false
	}
	r.list, r.bytes = append(r.list, refused), r.bytes+refused.size
	return true
}

// markReady says that the latch of the event is recorded or noted.
func (r *retained) markReady(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.list {
		if e.id == id {
			e.ready = true
		}
	}
}

// abandon drops the event if no latch came of it.
func (r *retained) abandon(id string) {
	r.drop(func(e *refused) bool { return e.id == id && !e.ready })
}

// remove drops the event.
func (r *retained) remove(e *refused) { r.drop(func(old *refused) bool { return old == e }) }

func (r *retained) drop(which func(*refused) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(e *refused) bool {
		if !which(e) {
			return false
		}
		r.bytes -= e.size
		return true
	})
}

// has reports whether the event is retained.
func (r *retained) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.list, func(e *refused) bool { return e.id == id })
}

// next returns the oldest event whose cause has ended, of the session or, with nil, of any
// but those in without; nil when there is none. Events of a session are judged in their
// order: behind one whose cause lasts none is returned.
func (r *retained) next(of *wire.Session, without map[wire.Session]bool, over func(phases.LatchKind) bool) *refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[wire.Session]bool{}
	for _, e := range r.list {
		if of != nil && e.key != *of || without[e.key] || seen[e.key] {
			continue
		}
		if seen[e.key] = true; e.ready && over(e.why) {
			return e
		}
	}
	return nil
}

// any reports whether an event of the session, or with nil of any, is retained.
func (r *retained) any(of *wire.Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.list, func(e *refused) bool { return of == nil || e.key == *of })
}

// retain retains the refused invocations for the latch of the session, and reports whether it
// did: then judging them ends the latch. id and key are those that are recorded.
func (k *Kernel) retain(snap *snapshot, id string, key wire.Session, why phases.LatchKind,
	of []phases.Invocation) bool {
	if k.retained.o == nil || !why.OwnMaking() || len(of) == 0 || snap.judges != nil {
		return false
	}
	e := &refused{id: id, key: key, why: why}
	for n := range of {
		named := k.namesOnly(of[n], k.options.Clock.Now())
		if of[n].Phase == phases.Audit || named.Runtime != key.Runtime || named.Session != key.Session {
			return false // nothing is decided about it, or another session would be judged
		}
		inv := of[n].Clone()
		inv.ID = "" // it is judged as an invocation of its own
		e.of, e.size = append(e.of, inv), e.size+sizeOf(&inv)
	}
	return k.retained.add(e)
}

// alone returns what ends the latch of a refusal that is about to be recorded: a person,
// unless all that the session waits for is retained here.
func (k *Kernel) alone(ctx context.Context, named *phases.Invocation, ends phases.LatchEnd) phases.LatchEnd {
	if ends == phases.EndsByJudging && !k.aloneIn(ctx, wire.Session{Runtime: named.Runtime, Session: named.Session}) {
		k.retained.abandon(named.ID)
		return phases.EndsByPerson
	}
	return ends
}

// aloneIn reports whether all that the session's latch waits for is retained here: a
// latch that ends by judging what this kernel does not have is not replaced by one that
// it could lift. A store that cannot be read says so again when the latch is recorded.
func (k *Kernel) aloneIn(ctx context.Context, key wire.Session) bool {
	for range 2 { // the latch may be lifted between the two looks
		l, err := k.options.Store.Latch(context.WithoutCancel(ctx), key)
		if err != nil || l == nil || l.Ends != phases.EndsByJudging || k.retained.has(l.Invocation) {
			return true
		}
	}
	return false
}

// sizeOf is about what an invocation takes in memory, in bytes.
func sizeOf(inv *phases.Invocation) int64 {
	n := 1<<10 + len(inv.Action) + len(inv.CWD)
	for key, v := range inv.Metadata {
		n += len(key) + len(v)
	}
	for _, scope := range []phases.Scope{inv.Scopes.FSRead, inv.Scopes.FSWrite, inv.Scopes.Net, inv.Scopes.Tools} {
		for _, s := range scope {
			n += len(s) + 16
		}
	}
	return int64(n)
}
