package kernel

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
)

// maxToolDepth is how deep invocations that hooks ask for nest: a hook of the
// fourth such invocation cannot call a tool any more.
const maxToolDepth = 4

// turnKey marks the context of a hook's turn with its turnScope, so that an
// invocation made on behalf of the hook belongs to the hook's own: it does not wait
// for others that go first, runs under the same configuration, and spends the same
// budget.
type turnKey struct{}

// turnScope is shared by the turn of a hook and the invocations made on its behalf.
type turnScope struct {
	kernel *Kernel
	snap   *snapshot
	depth  int // of the invocation that the turn belongs to

	asker *invocation // that invocation, whose secrets are known; nil: it knows none

	context turnContext // see inside

	mu      sync.Mutex
	began   time.Time
	time    time.Duration // that the chain had left when the turn began
	waiting time.Time     // since when the turn waits for a call; zero when it does not
	waited  time.Duration // in calls that have ended
	nested  time.Duration // that hooks took which ran on behalf of this turn
	ended   bool          // the turn was left behind: it makes no calls any more
}

// of begins a turn of the invocation.
func (s *turnScope) of(i *invocation, began time.Time, left time.Duration) {
	s.kernel, s.snap, s.depth, s.asker, s.began, s.time = i.kernel, i.snap, i.depth(), i, began, left
}

// turnContext is the context of a turn.
type turnContext struct {
	context.Context
	scope *turnScope
}

// Value implements context.Context.
func (c *turnContext) Value(key any) any {
	if key == (turnKey{}) {
		return c.scope
	}
	return c.Context.Value(key)
}

// inside returns a context for the turn. It is asked for once.
func (s *turnScope) inside(ctx context.Context) context.Context {
	s.context = turnContext{ctx, s}
	return &s.context
}

// scopeOf returns the turn on whose behalf the context's work is done, or nil.
func scopeOf(ctx context.Context, k *Kernel) *turnScope {
	s, _ := ctx.Value(turnKey{}).(*turnScope)
	if s == nil || s.kernel != k {
		return nil
	}
	return s
}

func insideTurn(ctx context.Context, k *Kernel) bool { return scopeOf(ctx, k) != nil }

// wait says that the turn waits for a call until done is called: that time is
// not the hook's own. It is false for a turn that was left behind: nothing of its
// invocation may be touched then.
func (s *turnScope) wait() (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, false
	}
	s.waiting = time.Now()
	return func() {
		s.mu.Lock()
		s.waited += time.Since(s.waiting)
		s.waiting = time.Time{}
		s.mu.Unlock()
	}, true
}

// overdue returns how much longer a turn may run whose own time is limited, and ends
// its calls when that is nothing. A turn that waits for a call is not overdue.
func (s *turnScope) overdue(limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waiting.IsZero() {
		return max(limit-(s.waiting.Sub(s.began)-s.waited), overdueLook)
	}
	more := limit - (time.Since(s.began) - s.waited)
	if s.ended = more <= 0; s.ended {
		return 0
	}
	return more
}

// overdueLook is how often it is looked at least whether an overdue turn still waits.
const overdueLook = 50 * time.Millisecond

// paused returns how long the turn waited for calls that have ended.
func (s *turnScope) paused() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waited
}

// left returns the time that hooks which run on behalf of the turn may still take.
func (s *turnScope) left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.waiting
	if now.IsZero() {
		now = time.Now()
	}
	return s.time - (now.Sub(s.began) - s.waited) - s.nested
}

// take spends time of the turn.
func (s *turnScope) take(d time.Duration) {
	s.mu.Lock()
	s.nested += d
	s.mu.Unlock()
}

func (s *turnScope) taken() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nested
}

// parentBudget is the fuel and time of the turn on whose behalf an invocation is made.
// The zero value belongs to an invocation that no hook asked for.
type parentBudget struct {
	scope     *turnScope
	fuelLeft  func() (int64, bool)
	spendFuel func(int64)
}

func budgetOf(ctx context.Context, k *Kernel) parentBudget {
	s := scopeOf(ctx, k)
	if s == nil {
		return parentBudget{}
	}
	return parentBudget{scope: s, fuelLeft: func() (int64, bool) { return hostcalls.FuelLeft(ctx) },
		spendFuel: func(n int64) { hostcalls.Charge(ctx, n) }}
}

func (p parentBudget) nested() bool { return p.scope != nil }

// spend charges time and fuel of a nested invocation's turn.
func (p parentBudget) spend(d time.Duration, fuel int64) {
	if p.scope == nil {
		return
	}
	p.scope.take(d)
	p.spendFuel(fuel)
}

// memory holds the replies to the calls of an invocation's turns. When the invocation runs
// again, because a row that it had read was changed, a call that has been made is not made a
// second time. It is used by one goroutine.
type memory map[memoryKey]memoryEntry

type memoryKey struct {
	binding string
	pass    string
	n       int // of the turn's calls
}

type memoryEntry struct {
	call    string
	request string
	reply   jsontext.Value
	err     error
	fuel    int64
	note    string
}
