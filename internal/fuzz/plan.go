package fuzz

import (
	"context"
	"slices"
	"time"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

// plan is everything that one run is made of: the same plan has the same result.
type plan struct {
	wire    []byte            // the invocation as it came in
	inv     phases.Invocation // decoded from it
	config  int               // which of the subject's configurations
	ports   uint64            // the seed of answers from outside; 0: nothing is there
	carried phases.Metadata   // from earlier hooks in the run

	fuel   int64 // of each turn; 0 means the default
	slice  int64 // fuel between two looks at the deadline; 0 means the default
	memory int64 // MiB; 0 means the manifest's
	look   int   // the deadline is over at this look; 0: never
	inject []hostcalls.Injected
	store  storeFault
}

// storeFault is the fault of the commit.
type storeFault uint8

const (
	storeWorks storeFault = iota
	storeConflictsOnce
	storeConflicts
	storeDown
)

func (p *plan) with(change func(*plan)) *plan {
	c := *p
	c.inject = slices.Clone(p.inject)
	change(&c)
	return &c
}

// plain reports whether nothing is wrong but, at most, the input.
func (p *plan) plain() bool {
	return p.fuel == 0 && p.memory == 0 && p.look == 0 && len(p.inject) == 0 && p.store == storeWorks
}

// site is one call of the guest that a failure can be put into.
type site struct {
	n    int
	call *hostcalls.Call
}

// turn is one call of the hook.
type turn struct {
	pass    phases.Pass
	looks   int // at the deadline
	sites   []site
	effects []phases.Effect
	writes  []hostcalls.StateWrite
	fuel    int64
	peak    int64
	calls   int
	fail    string // the hook's own last words
	unsure  bool   // the hook itself says that it cannot tell; see unsureLog
	fault   *phases.Fault
	detail  string
}

// result is the result of a run.
type result struct {
	verdict  phases.Verdict
	err      error
	turns    []turn
	events   []phases.Event // of the last commit
	panicked string
	rec      *recording.Run
	chain    *recording.Chain
}

// failed returns the fault of the first turn that failed, or nil.
func (r *result) failed() *turn {
	for i := range r.turns {
		if r.turns[i].fault != nil {
			return &r.turns[i]
		}
	}
	return nil
}

// blockedByFailure reports whether the run ended in a block that is no decision of
// the hook.
func (r *result) blockedByFailure() bool {
	return r.verdict.Decision == phases.Block && r.verdict.Kind != phases.KindPolicy && r.verdict.Kind != ""
}

// decided reports whether the hook has come to an opinion without a failure.
func (r *result) decided() bool {
	return r.panicked == "" && !r.blockedByFailure() && r.failed() == nil
}

// unsure reports whether a person is asked because the hook says that it cannot tell.
func (r *result) unsure() bool {
	return r.verdict.Decision == phases.Ask && slices.ContainsFunc(r.turns, func(t turn) bool { return t.unsure })
}

// strength orders results by how much they restrict an agent.
func (r *result) strength() int {
	switch r.verdict.Decision {
	case phases.Block:
		return 3
	case phases.Ask:
		return 2
	}
	for _, t := range r.turns {
		for _, e := range t.effects {
			switch e.Kind {
			case phases.EffectRewrite, phases.EffectRedact, phases.EffectClamp, phases.EffectReply, phases.EffectRetry:
				return 1
			}
		}
	}
	return 0
}

// lookContext ends at its n-th look. By a clock it ends only with the time of the whole search, and then the run does
// not count.
type lookContext struct {
	context.Context
	seen, at int
}

func (c *lookContext) Err() error {
	c.seen++
	if c.at > 0 && c.seen >= c.at {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

func (*lookContext) Done() <-chan struct{}       { return nil }
func (*lookContext) Deadline() (time.Time, bool) { return time.Time{}, false }
