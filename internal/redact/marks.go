package redact

import (
	"sort"
	"strings"
)

// placeholders returns the places of a text that are redacted already.
func placeholders(s string) []Finding {
	var out []Finding
	for at := 0; ; {
		i := strings.Index(s[at:], "[redacted:")
		if i < 0 {
			return out
		}
		at += i
		n := placeholderAt(s[at:])
		if n > 0 {
			out = append(out, Finding{Start: at, End: at + n})
		}
		at += max(n, 1)
	}
}

// unmarked is a text without its placeholders.
func unmarked(s string) string {
	marks := placeholders(s)
	if marks == nil {
		return s
	}
	var b strings.Builder
	at := 0
	for _, m := range marks {
		b.WriteString(s[at:m.Start])
		at = m.End
	}
	return b.String() + s[at:]
}

// besides returns what the findings say about the text beside its placeholders.
// A finding that reaches over a placeholder is cut at it and not dropped:
// otherwise an author of the text could save a key from redaction with a forged
// placeholder.
func besides(s string, found []Finding) []Finding {
	marks := placeholders(s)
	var out []Finding
	for _, f := range found {
		if f.Start >= f.End || f.End > len(s) {
			continue
		}
		next := sort.Search(len(marks), func(i int) bool { return marks[i].End > f.Start })
		if next == len(marks) || marks[next].Start >= f.End {
			out = append(out, f)
			continue
		}
		at := f.Start
		for ; next < len(marks) && marks[next].Start < f.End; next++ {
			out = leftover(s, out, f.Kind, at, marks[next].Start)
			at = marks[next].End
		}
		out = leftover(s, out, f.Kind, at, f.End)
	}
	return out
}

// minLeftover is how many letters and digits make the rest of a finding worth
// redacting: with fewer it is the punctuation around a placeholder.
const minLeftover = 4

func leftover(s string, out []Finding, kind string, from, to int) []Finding {
	n := 0
	for i := from; i < to && n < minLeftover; i++ {
		if word[s[i]] {
			n++
		}
	}
	if n < minLeftover {
		return out
	}
	return append(out, Finding{Kind: kind, Start: from, End: to})
}
