package cli

import "slices"

// diffLine is one line of a comparison: op is '-', '+' or ' '.
type diffLine struct {
	op   byte
	text string
}

// maxDiffCells bounds the table of a comparison. Beyond it, everything between the
// first and the last difference counts as replaced.
const maxDiffCells = 1 << 20

// diffLines compares two texts line by line, with a longest common subsequence.
func diffLines(a, b []string) []diffLine {
	var out []diffLine
	add := func(op byte, lines []string) {
		for _, l := range lines {
			out = append(out, diffLine{op, l})
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

func lcs(a, b []string) []diffLine {
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
	var out []diffLine
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && same[(i+1)*w+j] >= same[i*w+j+1]:
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return out
}

// nearChanges keeps what changed with n lines around it; '…' stands for the rest.
func nearChanges(lines []diffLine, n int) []diffLine {
	keep := make([]bool, len(lines))
	for i, l := range lines {
		if l.op == ' ' {
			continue
		}
		for j := max(0, i-n); j <= min(len(lines)-1, i+n); j++ {
			keep[j] = true
		}
	}
	var out []diffLine
	for i, l := range lines {
		switch {
		case keep[i]:
			out = append(out, l)
		case i == 0 || keep[i-1]:
			out = append(out, diffLine{' ', "…"})
		}
	}
	return slices.Clip(out)
}
