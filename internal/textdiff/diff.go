// Package textdiff compares texts line by line, for people to read. It decides which
// lines stay, go and come; it never decides what a line is or how it is shown.
package textdiff

import "slices"

// Line is one line of a comparison: Op is '-', '+' or ' '.
type Line struct {
	Op   byte
	Text string
}

// maxDiffCells bounds the table of a comparison. Beyond it, everything between the
// first and the last difference counts as replaced.
const maxDiffCells = 1 << 20

// Lines compares two texts line by line, with a longest common subsequence.
func Lines(a, b []string) []Line {
	var out []Line
	add := func(op byte, lines []string) {
		for _, l := range lines {
			out = append(out, Line{op, l})
		}
	}
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	add(' ', a[:start])
	am, bm := a[start:len(a)-end], b[start:len(b)-end]
	if (len(am)+1)*(len(bm)+1) > maxDiffCells {
		add('-', am)
		add('+', bm)
	} else {
		out = append(out, lcs(am, bm)...)
	}
	add(' ', a[len(a)-end:])
	return out
}

func lcs(a, b []string) []Line {
	w := len(b) + 1
	// same[i*w+j] is the length of what a[i:] and b[j:] have in common.
	same := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				same[i*w+j] = same[(i+1)*w+j+1] + 1
			} else {
				same[i*w+j] = max(same[(i+1)*w+j], same[i*w+j+1])
			}
		}
	}
	var out []Line
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, Line{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && same[(i+1)*w+j] >= same[i*w+j+1]:
			out = append(out, Line{'-', a[i]})
			i++
		default:
			out = append(out, Line{'+', b[j]})
			j++
		}
	}
	return out
}

// Near keeps what changed with n lines around it; '…' stands for the rest.
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
