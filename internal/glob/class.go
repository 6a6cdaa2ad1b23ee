package glob

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// class is a set of characters: ranges in order that do not touch each other.
type class struct {
	ranges []span
	not    bool
}

type span struct{ lo, hi rune }

// newClass reads what stands between the brackets of a class. A range begins with a
// character that is not itself the end of one, or a - that means itself.
func newClass(s string) class {
	c := class{not: s[0] == '!' || s[0] == '^'}
	if c.not {
		s = s[1:]
	}
	next := func() rune {
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		return r
	}
	var spans []span
	last := rune(utf8.MaxRune) // what a range may begin with; the last character there is begins none
	for len(s) > 0 {
		r := next()
		if r == '-' && last < utf8.MaxRune && len(s) > 0 {
			if s[0] == '\\' {
				s = s[1:]
			}
			spans = append(spans, span{last, next()})
			last = utf8.MaxRune
			continue
		}
		if r == '\\' {
			r = next()
		}
		spans = append(spans, span{r, r})
		last = r
	}
	c.ranges = merge(spans)
	return c
}

// merge sorts spans, drops those that hold nothing and joins those that overlap.
func merge(spans []span) []span {
	spans = slices.DeleteFunc(spans, func(s span) bool { return s.lo > s.hi })
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	return out
}

func (c *class) has(r rune) bool {
	_, in := slices.BinarySearchFunc(c.ranges, r, func(s span, r rune) int {
		switch {
		case s.hi < r:
			return -1
		case s.lo > r:
			return 1
		}
		return 0
	})
	return in != c.not
}
