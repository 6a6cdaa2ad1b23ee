package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/fuzz"
)

// Progress has the total and the time that is left, on a terminal and in a log; in a log it is a line now and then.
func TestFuzzProgress(t *testing.T) {
	at := func(runs int, elapsed time.Duration) fuzz.Progress {
		return fuzz.Progress{Runs: runs, Inputs: 7, Findings: 2, Elapsed: elapsed}
	}
	for _, c := range []struct {
		options fuzzOptions
		p       fuzz.Progress
		want    string
	}{
		{fuzzOptions{runs: 1000}, at(250, 10*time.Second), "250 of 1 000 runs, 25 a second, 7 inputs, 2 found, about 30s left"},
		{fuzzOptions{time: time.Minute}, at(250, 10*time.Second),
			"250 runs in 10s of 1m0s, 25 a second, 7 inputs, 2 found, about 50s left"},
		{fuzzOptions{runs: 1000, time: 15 * time.Second}, at(250, 10*time.Second),
			"250 of 1 000 runs in 10s of 15s, 25 a second, 7 inputs, 2 found, about 5s left"},
		{fuzzOptions{runs: 250}, at(260, 10*time.Second),
			"260 of 250 runs, 26 a second, 7 inputs, 2 found, the limit is reached: findings are made small"},
	} {
		if got := strings.ReplaceAll(progressText(c.options, c.p), "\u202f", " "); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	var log, screen bytes.Buffer
	piped, shown := (&App{Err: &log}).fuzzProgress(fuzzOptions{runs: 100}), (&App{Err: &screen,
		Terminal: true}).fuzzProgress(fuzzOptions{runs: 100})
	for second := range 25 {
		piped(at(second, time.Duration(second)*time.Second))
		shown(at(second, time.Duration(second)*time.Second))
	}
	if got := log.String(); strings.Count(got, "\n") != 2 || strings.ContainsAny(got, "\r\x1b") ||
		!strings.HasPrefix(got, "belay: fuzz: 10 of 100 runs") {
		t.Errorf("a log: %q", got)
	}
	if got := screen.String(); strings.Count(got, "\r") != 25 || strings.Contains(got, "\n") {
		t.Errorf("a terminal: %q", got)
	}
}
