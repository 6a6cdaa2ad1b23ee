// Package textdiff compares texts line by line, for people to read. It decides which
// lines stay, go and come; it never decides what a line is or how it is shown.
package textdiff

import (
	"slices"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Line is one line of a comparison: Op is '-', '+' or ' '.
type Line struct {
	Op   byte
	Text string
}

// Lines compares two texts line by line. Where they differ much, the comparison stays fast
// and may not be the shortest.
func Lines(a, b []string) []Line {
	var out []Line
	add := func(op byte, lines []string) {
		for _, l := range lines {
			out = append(out, Line{op, l})
		}
	}
	done := 0 // lines of a
	for _, d := range lcs.DiffLines(a, b) {
		add(' ', a[done:d.Start])
		add('-', a[d.Start:d.End])
		add('+', b[d.ReplStart:d.ReplEnd])
		done = d.End
	}
	add(' ', a[done:])
	return out
}

// Near returns what changed with n lines around it; '…' stands for the rest.
func Near(lines []Line, n int) []Line {
	keep := make([]bool, len(lines))
	for i, l := range lines {
		if l.Op == ' ' {
			continue
		}
		for j := max(0, i-n); j <= min(len(lines)-1, i+n); j++ {
			keep[j] = true
		}
	}
	var out []Line
	for i, l := range lines {
		switch {
		case keep[i]:
			out = append(out, l)
		case i == 0 || keep[i-1]:
			out = append(out, Line{' ', "…"})
		}
	}
	return slices.Clip(out)
}
