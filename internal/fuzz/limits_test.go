package fuzz_test

import (
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/loader"
)

// A search makes as many runs as it was given: none more for what runs again at the end, on any number of processors.
func TestRunsAreExact(t *testing.T) {
	b := bench(t, loader.BenchOptions{})
	for _, c := range []struct {
		hook          string
		runs, workers int
	}{
		{"sound", 1, 0}, {"sound", 7, 3}, {"sound", 50, 0}, {"sound", 200, 1},
		{"tired", 200, 0},
	} {
		res, err := fuzz.Run(t.Context(), fuzz.Options{Bench: b, Module: planted(t, c.hook), Seed: 1, Runs: c.runs,
			Workers: c.workers})
		if err != nil || res.Runs != c.runs {
			t.Errorf("%s: %d runs of %d, %v", c.hook, res.Runs, c.runs, err)
		}
	}
}

// The run that the end of the time falls into is the last one, and does not count.
func TestTimeEndsWithTheRun(t *testing.T) {
	const limit = 400 * time.Millisecond
	started, begun := time.Now(), 0
	res, err := fuzz.RunTapped(t.Context(), fuzz.Options{Bench: bench(t, loader.BenchOptions{}),
		Module: planted(t, "sound"), Seed: 1, Time: limit}, func([]byte) {
		if begun++; begun == 3 {
			time.Sleep(time.Until(started.Add(limit + 100*time.Millisecond)))
		}
	})
	if err != nil || begun > 3 || res.Runs > 2 {
		t.Errorf("%d runs begun, %d counted, %v", begun, res.Runs, err)
	}
}
