package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// cells are a stretch's columns.
func (s *stretch) cells() []string {
	n := max(len(s.took), 1)
	return []string{
		s.name,
		fmt.Sprintf("%.0f", s.rate()),
		fmt.Sprintf("%.2f", (s.to.processor-s.from.processor).Seconds()*1000/float64(n)),
		fmt.Sprintf("%.1f", s.kilobytes()),
		millis(percentile(s.took, 50)), millis(percentile(s.took, 99)), millis(percentile(s.took, 100)),
		fmt.Sprintf("%.0f", float64(s.to.resident)/1e6),
	}
}

var soakColumns = []string{"", "verdicts/s", "daemon's processor ms a verdict", "KB on disk a verdict", "p50 ms",
	"p99 ms", "longest ms", "resident MB"}

// percentile is of sorted times.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100]
}

func millis(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	if ms < 10 {
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}

// whole joins the stretches.
func whole(of []stretch) stretch {
	all := stretch{name: "whole", from: of[0].from, to: of[len(of)-1].to}
	for _, s := range of {
		all.took = append(all.took, s.took...)
		all.sentBytes += s.sentBytes
	}
	slices.Sort(all.took)
	return all
}

func soakGrid(of []stretch) *grid {
	g := &grid{header: soakColumns}
	for _, s := range append(slices.Clone(of), whole(of)) {
		g.rows = append(g.rows, s.cells())
	}
	return g
}

// soakGoals are those of a soak.
func soakGoals(of []stretch) []goal {
	all, last := whole(of), len(of)-1
	return []goal{
		{name: "eight hooks, 48 callers, minutes: verdicts", limit: 2000, unit: "/s", least: true, of: known(all.rate())},
		{name: "the same: on disk a verdict", limit: 3, unit: " KB", of: known(all.kilobytes())},
		{name: "the same: 99th of a hundred", limit: 60, unit: " ms", of: known(percentile(all.took, 99).Seconds() * 1000)},
		{name: "the same: the last quarter's verdicts a second against the first's", limit: 0.9, unit: "×", least: true,
			of: known(of[last].rate() / of[0].rate())},
	}
}

// rate is in verdicts a second.
func (s *stretch) rate() float64 { return float64(len(s.took)) / max(s.to.at-s.from.at, 1).Seconds() }

// kilobytes is what a verdict takes on disk.
func (s *stretch) kilobytes() float64 {
	return float64(s.to.disk-s.from.disk) / 1000 / float64(max(len(s.took), 1))
}

// write is the part of the page between the marks.
func (s *soak) write(w io.Writer, m machine, long time.Duration, of []stretch) {
	all := whole(of)
	fmt.Fprintf(w, "Written by `make bench-soak` on %s, commit %s: %v with %d reloads.\n",
		m.at.Format("2 January 2006"), m.commit, long, s.reloads)
	fmt.Fprintf(w, "%d processors (%s), Linux %s, load %s before the run; the callers take a part of both.\n",
		m.count, m.processor, m.kernel, m.load)
	fmt.Fprintf(w, "%d callers, each on a framed connection of its own, asked about %d events of %.1f KB in the\n"+
		"mean.\n\n",
		soakCallers, len(all.took), float64(all.sentBytes)/1000/float64(max(len(all.took), 1)))
	soakGrid(of).page(w)
}
