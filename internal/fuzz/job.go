package fuzz

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// lag is how many runs are on their way at once. A run depends on the results of all but
// the lag runs before it, on whichever goroutine they run and however long they take. So
// the same seed goes the same way on any number of processors.
const lag = 32

// maxWorkers bounds the memory.
const maxWorkers = 16

// job is one run that is to be made.
type job struct {
	make        func() attempt                   // on any goroutine: it uses nothing that changes
	interpreter bool                             // where it runs
	mayNotLoad  bool                             // with the budget of the plan, which blocks
	look        func(p *plan, res *result) error // in order, on the fuzzer's goroutine; nil: judge says it all

	other func(h *hand) error // instead of a run: work for any free goroutine

	ended   func() bool // it need not begin any more
	done    chan struct{}
	skipped bool // it was not run, or cut off by the time
	tried   attempt
	res     *result // nil: nothing was run
	bad     []verdictOn
	err     error
}

// attempt is a job made ready to run: a plan, or an input for the front door. The zero
// value is one that could not be made.
type attempt struct {
	plan    *plan // for an input that is refused: whose hook and store are used
	refused error // with which raw did not decode
	raw     []byte
	trouble *verdictOn // with the decoder itself; nothing is run
}

// crew makes runs on several goroutines, each of which has kernels of its own.
type crew struct {
	jobs chan *job
	wait sync.WaitGroup
}

func newCrew(ctx context.Context, workers int, hand func() *hand) *crew {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	c := &crew{jobs: make(chan *job, lag)}
	for range min(workers, maxWorkers) {
		h := hand()
		c.wait.Go(func() {
			defer h.close()
			for j := range c.jobs {
				h.run(ctx, j)
				close(j.done)
			}
		})
	}
	return c
}

// close waits for the runs that have begun.
func (c *crew) close() {
	close(c.jobs)
	c.wait.Wait()
}

// hand is one of the crew. It is used by one goroutine.
type hand struct {
	compiled, interpreted *subject // interpreted is nil when engines are not compared
}

func (h *hand) close() {
	h.compiled.close()
	if h.interpreted != nil {
		h.interpreted.close()
	}
}

func (h *hand) run(ctx context.Context, j *job) {
	if j.skipped = j.ended(); j.skipped {
		return
	}
	if j.other != nil {
		j.err = j.other(h)
		return
	}
	j.tried = j.make()
	switch t := &j.tried; {
	case t.trouble != nil || t.plan == nil:
	case t.refused != nil:
		j.res, j.err = h.compiled.refuse(ctx, t.plan, t.raw, t.refused)
	case j.interpreter:
		j.res, j.err = h.interpreted.exec(ctx, t.plan)
	default:
		if j.res, j.err = h.compiled.exec(ctx, t.plan); j.err == nil {
			j.bad = judge(t.plan, j.res)
		} else if j.mayNotLoad && !errors.Is(j.err, kernel.ErrOverran) {
			j.res, j.err = nil, nil
		}
	}
	if ctx.Err() != nil { // a run that was cut off tells nothing, and its kernel may have a fault of it
		j.skipped, j.res, j.err, j.bad = true, nil, nil, nil
		h.renew()
	}
}

// renew has the next run made by new kernels.
func (h *hand) renew() {
	for _, s := range []*subject{h.compiled, h.interpreted} {
		if s != nil {
			s.close()
			clear(s.rigs)
		}
	}
}

// of is the attempt of a plan that there is already, or that cannot be made (nil).
func of(p *plan) func() attempt { return func() attempt { return attempt{plan: p} } }

// changed is the attempt of a plan that is like another one.
func changed(p *plan, change func(*plan)) func() attempt {
	return func() attempt { return attempt{plan: p.with(change)} }
}

// pipe makes jobs and takes their results, in the order in which they were made, until
// there are none or over says so. next returns nil when it has no job before another
// result is taken.
func (f *fuzzer) pipe(next func() *job, over func(running int) bool, ended func() bool) error {
	var running []*job
	for {
		for len(running) < lag && !over(len(running)) {
			j := next()
			if j == nil {
				break
			}
			j.ended, j.done = ended, make(chan struct{})
			f.crew.jobs <- j
			running = append(running, j)
		}
		if len(running) == 0 {
			return nil
		}
		j := running[0]
		running = running[1:]
		if <-j.done; j.skipped {
			return nil // and so are the others
		}
		if err := f.take(j); err != nil {
			return err
		}
		f.tell()
	}
}

// list is a next that goes through jobs once.
func list(jobs []*job) func() *job {
	return func() *job {
		if len(jobs) == 0 {
			return nil
		}
		j := jobs[0]
		jobs = jobs[1:]
		return j
	}
}

// take notes the result of a job.
func (f *fuzzer) take(j *job) error {
	if j.other != nil {
		return j.err
	}
	if j.err != nil {
		return hookError(j.err)
	}
	attempt := &j.tried
	switch {
	case attempt.trouble != nil:
		f.runs++
		f.report(*attempt.trouble, "input "+phases.SafeLine(string(attempt.raw[:min(len(attempt.raw), 160)]), 200),
			&repro{base: attempt.plan})
		return nil
	case j.res == nil:
		return nil
	}
	f.runs++
	if j.interpreter {
		return j.look(attempt.plan, j.res)
	}
	f.counts[Count{Decision: j.res.verdict.Decision, Kind: kindOf(j.res)}]++
	if attempt.refused != nil {
		f.refused++
		f.lookRefused(attempt, j.res)
		return nil
	}
	for _, bad := range j.bad {
		f.report(bad, "", &repro{base: attempt.plan, holds: sameKey(attempt.plan, bad.key)})
	}
	if j.look == nil {
		return nil
	}
	return j.look(attempt.plan, j.res)
}
