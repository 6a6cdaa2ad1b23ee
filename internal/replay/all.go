package replay

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/belay-hooks/belay/internal/recording"
)

// All replays a whole recording, several invocations at a time, and calls each in
// the order of the recording. An error of each, of a replay or of the recording ends it.
func All(ctx context.Context, o Options, src *recording.Reader, each func(*Result) error) error {
	first, err := New(o)
	if err != nil {
		return err
	}
	if err := first.Admit(src.Header()); err != nil {
		_ = first.Close()
		return err
	}
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if workers == 1 {
		return errors.Join(one(ctx, first, src, each), first.Close())
	}
	return errors.Join(many(ctx, o, first, workers, src, each))
}

func one(ctx context.Context, r *Replayer, src *recording.Reader, each func(*Result) error) error {
	for {
		run, chain, err := src.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		res, err := r.Replay(ctx, run, chain)
		if err == nil {
			err = each(res)
		}
		if err != nil {
			return err
		}
	}
}

// job is one invocation with the place of its result.
type job struct {
	run   *recording.Run
	chain *recording.Chain
	done  chan done
}

type done struct {
	res *Result
	err error
}

func many(ctx context.Context, o Options, first *Replayer, workers int, src *recording.Reader,
	each func(*Result) error) error {
	ctx, cancel := context.WithCancel(ctx)
	jobs := make(chan *job)
	order := make(chan *job, 2*workers) // bounds the memory
	var group sync.WaitGroup
	var readErr error
	group.Go(func() {
		defer close(jobs)
		defer close(order)
		for {
			run, chain, err := src.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					readErr = err
				}
				return
			}
			j := &job{run: run, chain: chain, done: make(chan done, 1)}
			select {
			case order <- j:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				j.done <- done{err: ctx.Err()}
				return
			}
		}
	})
	closed := make([]error, workers)
	for n := range workers {
		group.Go(func() {
			r := first
			if n > 0 {
				r, _ = New(o) // the same options have made the first one
			}
			for j := range jobs {
				res, err := r.Replay(ctx, j.run, j.chain)
				j.done <- done{res, err}
			}
			closed[n] = r.Close()
		})
	}
	var err error
	for j := range order {
		d := <-j.done
		if err == nil {
			if err = d.err; err == nil {
				err = each(d.res)
			}
			if err != nil {
				cancel()
			}
		}
	}
	cancel()
	group.Wait()
	if err == nil {
		err = readErr
	}
	return errors.Join(append([]error{err}, closed...)...)
}
