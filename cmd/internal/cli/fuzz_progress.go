package cli

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/fuzz"
)

// pipedProgress is the time between two lines of progress where standard output is no terminal.
const pipedProgress = 10 * time.Second

// fuzzProgress tells how far a search is: on a terminal in one line that is written over, else in a line now and then,
// so that a log shows that it goes on.
func (a *App) fuzzProgress(options fuzzOptions) func(fuzz.Progress) {
	if a.Terminal {
		return func(p fuzz.Progress) { fmt.Fprintf(a.Err, "\r\x1b[K%s", progressText(options, p)) }
	}
	var told time.Duration
	return func(p fuzz.Progress) {
		if p.Elapsed-told < pipedProgress {
			return
		}
		told = p.Elapsed
		fmt.Fprintf(a.Err, "belay: fuzz: %s\n", progressText(options, p))
	}
}

// progressText says how much of the whole is done, and about how long the rest takes.
func progressText(options fuzzOptions, p fuzz.Progress) string {
	rate := float64(p.Runs) / max(p.Elapsed.Seconds(), 0.001)
	text := count(int64(p.Runs))
	if options.runs > 0 {
		text += " of " + count(int64(options.runs))
	}
	text += " runs"
	if options.time > 0 {
		text += fmt.Sprintf(" in %v of %v", p.Elapsed.Round(time.Second), options.time)
	}
	text += fmt.Sprintf(", %.0f a second, %s inputs, %d found", rate, count(int64(p.Inputs)), p.Findings)
	left, known := progressLeft(options, p, rate)
	switch {
	case !known:
	case left <= 0:
		text += ", the limit is reached: findings are made small"
	default:
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return text
}

// progressLeft is how long the search still takes, by the limit that it reaches first.
func progressLeft(options fuzzOptions, p fuzz.Progress, rate float64) (left time.Duration, known bool) {
	if options.runs > 0 && rate > 0 {
		left, known = time.Duration(float64(options.runs-p.Runs)/rate*float64(time.Second)), true
	}
	if options.time > 0 {
		if rest := options.time - p.Elapsed; !known || rest < left {
			left, known = rest, true
		}
	}
	return left, known
}
