package kernel

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

const (
	// defaultLeaveAfter is how long beyond its deadline a turn is waited for.
	defaultLeaveAfter = 3 * time.Second

	// ToolCeiling is the time by the clock that suites, replays and fuzzing give a turn; see
	// Options.Untimed. Fuel ends a turn long before.
	ToolCeiling = time.Minute

	// MaxLeftBehind is how many turns that were left behind may run at the same time.
	// Each may hold a processor for ever, and nothing but the end of the process stops it.
	MaxLeftBehind = 4
)

const (
	textLeft   = "the hook ignored its deadline and was left behind"
	textMarked = "the hook was left behind and still runs: it is not asked before that has ended"
)

var errLeft = errors.New("left behind")

// leftBehind knows the turns that ran on long after their deadline. Their goroutines
// cannot be ended: they run until what they wait for ends, or the process does. Safe
// for concurrent use; it is made by the zero value.
type leftBehind struct {
	mu      sync.Mutex
	running map[leftKey]int
	total   int // of running
	ever    bool
	once    sync.Once
	full    chan struct{}
	isFull  bool
}

// leftKey is a binding as it is loaded: another file under the name is another hook.
type leftKey struct{ name, digest string }

func (b *binding) leftKey() leftKey { return leftKey{b.spec.Name, b.digest} }

func (l *leftBehind) stuck() chan struct{} {
	l.once.Do(func() { l.full = make(chan struct{}) })
	return l.full
}

func (l *leftBehind) add(k leftKey) (total int) {
	full := l.stuck()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = map[leftKey]int{}
	}
	l.running[k]++
	l.ever = true
	if l.total++; l.total >= MaxLeftBehind && !l.isFull {
		l.isFull = true
		close(full)
	}
	return l.total
}

func (l *leftBehind) remove(k leftKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.running[k]--; l.running[k] == 0 {
		delete(l.running, k)
	}
}

// fault is the failure of a binding while a turn of it is left behind, or nil.
func (l *leftBehind) fault(k leftKey) *phases.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[k] == 0 {
		return nil
	}
	return phases.NewFault(phases.KindHang, textMarked, nil)
}

// LeftBehind returns the bindings of which a turn runs on long after its deadline, in
// order. They block each phase that they are asked about until it has ended.
func (k *Kernel) LeftBehind() []string {
	k.left.mu.Lock()
	defer k.left.mu.Unlock()
	var names []string
	for key := range k.left.running {
		names = append(names, key.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Stuck is closed when MaxLeftBehind turns that were left behind run at the same time.
// The process should answer what has begun, and end.
func (k *Kernel) Stuck() <-chan struct{} { return k.left.stuck() }

// perform runs a turn. One that may ignore its deadline gets a goroutine of its own and a watch:
// to start and to await it takes several times as long as a short turn does.
func (c *chain) perform(ctx context.Context, binding *binding, turn Turn,
	scope *turnScope) (out Outcome, err error, left bool) {
	if binding.watched || c.invocation.kernel.options.Untimed > 0 {
		return c.watch(ctx, binding, turn, scope)
	}
	out, err = binding.loaded.Hook.Run(scope.inside(ctx), turn)
	return out, err, false
}

// watch runs a turn and answers for it when it ignores its deadline: the turn's goroutine is
// then left behind, and a late answer does not count. It touches nothing of the invocation any
// more: its scope refuses further calls.
func (c *chain) watch(ctx context.Context, binding *binding, turn Turn,
	scope *turnScope) (out Outcome, err error, left bool) {
	ctx, cancel := context.WithCancelCause(scope.inside(ctx))
	defer cancel(nil)
	done := runDetached(ctx, binding.loaded.Hook, turn)
	limit := turn.Ceiling + c.invocation.kernel.options.LeaveAfter
	untimed := c.invocation.kernel.options.Untimed > 0
	if untimed {
		limit = c.invocation.kernel.options.Untimed
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case a := <-done:
			if !untimed || scope.overdue(limit) > 0 {
				return a.out, a.err, false
			}
			done <- a // the clock decides, and not which of the two was seen first
		case <-timer.C:
		}
		if len(done) > 0 && !untimed {
			continue
		}
		if more := scope.overdue(limit); more > 0 {
			timer.Reset(more)
			continue
		}
		cancel(errLeft)
		c.leave(binding, func() { <-done })
		return Outcome{Duration: time.Since(scope.began), Waited: scope.paused()},
			phases.NewFault(phases.KindHang, textLeft, errLeft), true
	}
}

// leave counts a turn as left behind until ended returns. The configuration stays
// loaded until then: code that runs cannot be unloaded.
func (c *chain) leave(b *binding, ended func()) {
	k, snap, key := c.invocation.kernel, c.invocation.snap, b.leftKey()
	held := snap.acquire() // always: the invocation holds it, too
	total, since := k.left.add(key), time.Now()
	k.options.Logger.LogAttrs(context.Background(), slog.LevelError,
		"a hook ignores its deadline and is left behind: it blocks until that has ended",
		slog.String("hook", b.spec.Name), slog.Int("left_behind", total), slog.Int("most", MaxLeftBehind))
	go func() {
		ended()
		k.left.remove(key)
		k.options.Logger.LogAttrs(context.Background(), slog.LevelWarn, "a hook that was left behind has ended",
			slog.String("hook", b.spec.Name), slog.Duration("after", time.Since(since)))
		if held {
			k.releaseSnapshot(context.Background(), snap)
		}
	}()
}

// waitingLedger counts lease calls as time that the turn waits, and refuses them to a
// turn that was left behind.
type waitingLedger struct {
	ledger hostcalls.LeaseLedger
	scope  *turnScope
}

type leaseCall = func(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error)

func (w waitingLedger) call(ctx context.Context, f leaseCall, a phases.Actor,
	request jsontext.Value) (jsontext.Value, error) {
	done, ok := w.scope.wait()
	if !ok {
		return nil, errLeft
	}
	defer done()
	return f(ctx, a, request)
}

func (w waitingLedger) Request(ctx context.Context, a phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return w.call(ctx, w.ledger.Request, a, r)
}

func (w waitingLedger) Check(ctx context.Context, a phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return w.call(ctx, w.ledger.Check, a, r)
}

func (w waitingLedger) Mint(ctx context.Context, a phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return w.call(ctx, w.ledger.Mint, a, r)
}

func (w waitingLedger) Revoke(ctx context.Context, a phases.Actor, r jsontext.Value) (jsontext.Value, error) {
	return w.call(ctx, w.ledger.Revoke, a, r)
}

var _ hostcalls.LeaseLedger = waitingLedger{}
