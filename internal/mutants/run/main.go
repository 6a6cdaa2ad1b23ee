// Command run removes defences, or makes a seeded choice of small changes, and reports which of them the tests notice.
// It decides nothing by itself: package mutants does. It never writes into the tree.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/mutants"
)

func main() {
	var o options
	flag.StringVar(&o.root, "C", ".", "the module's root")
	flag.StringVar(&o.table, "defences", "", "remove each defence of this table (YAML) and run the test that it names")
	flag.StringVar(&o.only, "only", "", "only defences whose name contains this")
	flag.StringVar(&o.packages, "packages", "",
		"make small changes in these folders (separated by commas; FOLDER/... with those below it)")
	flag.Uint64Var(&o.seed, "seed", 1, "what the choice of small changes depends on")
	flag.IntVar(&o.count, "n", 200, "how many small changes")
	flag.Float64Var(&o.least, "least", 0.9, "the share of small changes that has to be killed")
	flag.IntVar(&o.jobs, "j", 2, "defences at a time")
	flag.BoolVar(&o.verbose, "v", false, "also tell of changes that were killed")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "of one run of tests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := o.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

type options struct {
	root, table, only, packages string
	seed                        uint64
	count, jobs                 int
	least                       float64
	verbose                     bool
	timeout                     time.Duration
}

func (o *options) run(ctx context.Context) (ok bool, err error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "belay-mutants-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	r := &mutants.Runner{Root: root, Scratch: scratch, Timeout: o.timeout}
	ok = true
	if o.table != "" {
		if ok, err = o.defences(ctx, r); err != nil {
			return false, err
		}
	}
	if o.packages != "" {
		enough, err := o.sample(ctx, r)
		if err != nil {
			return false, err
		}
		ok = ok && enough
	}
	return ok, nil
}

// defences removes one defence after the other.
func (o *options) defences(ctx context.Context, r *mutants.Runner) (bool, error) {
	all, err := mutants.ReadDefences(o.table)
	if err != nil {
		return false, err
	}
	killed, tried := 0, 0
	var mu sync.Mutex
	err = parallel(ctx, o.jobs, len(all), func(n int) error {
		d := &all[n]
		if !strings.Contains(d.Name, o.only) {
			return nil
		}
		res, err := r.Defence(ctx, d)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		tried++
		if err != nil { // the others are tried all the same
			fmt.Printf("failed           %s (%s in %s): %v\n", d.Name, d.Symbol, d.Package, err)
			return nil
		}
		if res.Outcome == mutants.Killed {
			killed++
		}
		fmt.Printf("%-9s %5.1fs  %s (%s in %s; %s)\n", res.Outcome, res.Took.Seconds(), d.Name, d.Symbol, d.Package, d.Test)
		if res.Outcome == mutants.Invalid {
			fmt.Println(res.Output)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	fmt.Println(summary(killed, tried))
	return killed == tried && tried > 0, nil
}

// summary says of how many defences the tests notice that they are gone.
func summary(killed, tried int) string {
	switch {
	case tried == 0:
		return "no defence has such a name"
	case killed == tried:
		return fmt.Sprintf("the tests notice each of %d defences that is removed", tried)
	}
	return fmt.Sprintf("of %d defences that were removed, the tests notice %d and do not notice %d", tried, killed,
		tried-killed)
}

// sample makes small changes until so many have compiled.
func (o *options) sample(ctx context.Context, r *mutants.Runner) (bool, error) {
	folders, err := r.Folders(strings.Split(o.packages, ","))
	if err != nil {
		return false, err
	}
	fmt.Printf("%d small changes in %d packages, seed %d\n", o.count, len(folders), o.seed)
	by := map[string][2]int{}
	killed, tried, err := r.Survey(ctx, folders, o.seed, o.count, func(t *mutants.Tried) {
		sum := by[t.Folder]
		sum[1]++
		if t.Outcome == mutants.Killed {
			sum[0]++
		}
		by[t.Folder] = sum
		if t.Outcome == mutants.Survived || o.verbose {
			fmt.Printf("%-8s %5.1fs  %s:%d  %s  (%d tests reach it)\n", t.Outcome, t.Took.Seconds(),
				filepath.Join(t.Folder, filepath.Base(t.File)), t.Line, t.What, t.Reached)
		}
	})
	if err != nil {
		return false, err
	}
	for _, f := range folders {
		if sum := by[f]; sum[1] > 0 {
			fmt.Printf("  %-28s %3d of %3d\n", f, sum[0], sum[1])
		}
	}
	fmt.Printf("%d of %d small changes killed (%.1f %%)\n", killed, tried, 100*float64(killed)/float64(max(tried, 1)))
	return tried > 0 && float64(killed) >= o.least*float64(tried), nil
}

// parallel calls f for 0 to n-1, so many at a time, and returns the first error; no more begin after one.
func parallel(ctx context.Context, jobs, n int, f func(int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(jobs, 1))
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := f(i); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
