package redact

import (
	"sort"
	"strings"
)

// view is a text with something taken out or decoded, and where it came from.
type view struct {
	text string
	cuts []cut // in order; the first begins where the text does
}

// cut is where a part of a view came from: a run of bytes of the original that stand there as they are, or what bytes
// s[from:to] of it read as. A part ends where the next one begins.
type cut struct {
	at       int32 // where it begins in the view
	from, to int32 // to is 0 when it is a run
}

// of returns the part in which byte i of the view stands.
func (v *view) of(i int) cut {
	n := sort.Search(len(v.cuts), func(k int) bool { return int(v.cuts[k].at) > i })
	return v.cuts[n-1]
}

// place maps a range of the view to the original.
func (v *view) place(from, to int) (int, int) {
	a, b := v.of(from), v.of(to-1)
	begin, end := int(a.from), int(b.to)
	if a.to == 0 {
		begin += from - int(a.at)
	}
	if b.to == 0 {
		end = int(b.from) + to - int(b.at)
	}
	return begin, end
}

// viewing makes a view of a text from its beginning to its end. What is left as it is costs nothing until something is
// not.
type viewing struct {
	s    string
	done int // s[:done] is in the view
	text strings.Builder
	cuts []cut
}

// keep takes over the text up to s[i], as it is.
func (v *viewing) keep(i int) {
	if i == v.done {
		return
	}
	v.write(v.s[v.done:i], v.done, 0)
	v.done = i
}

// write adds a part.
func (v *viewing) write(text string, from, to int) {
	if v.text.Len() == 0 {
		v.text.Grow(len(v.s) - from)
	}
	v.cuts = append(v.cuts, cut{at: int32(v.text.Len()), from: int32(from), to: int32(to)})
	v.text.WriteString(text)
}

// read has s[from:to] read as a text.
func (v *viewing) read(text string, from, to int) {
	v.drop(from, to)
	if text != "" {
		v.write(text, from, to)
	}
}

// drop leaves out s[from:to].
func (v *viewing) drop(from, to int) {
	v.keep(from)
	v.done = to
}

// view is what has become of the text; it is empty when that is nothing else.
func (v *viewing) view() view {
	if v.done == 0 {
		return view{cuts: v.cuts}
	}
	v.keep(len(v.s))
	return view{v.text.String(), v.cuts}
}
