package fuzz_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/kernel"
)

// A turn that takes longer than is waited for ends the run with an error: it is no finding.
func TestTurnBeyondTheCeiling(t *testing.T) {
	res, err := fuzz.Run(t.Context(),
		fuzz.Options{Bench: bench(t, loader.BenchOptions{}), Module: planted(t, "sound"), Runs: 50, Ceiling: time.Nanosecond})
	if !errors.Is(err, kernel.ErrOverran) {
		t.Errorf("%v, %+v", err, res)
	}
}
