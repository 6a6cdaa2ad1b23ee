package phases

import (
	"cmp"
	"slices"
	"strings"
)

// fewest keeps the first maxJudged of the places added to it. First are those with the shorter pointers,
// so that the same places of an object are kept in whatever order its members stand.
type fewest struct {
	kept []rankedPlace // by rank
	n    int           // places added
	more bool          // one was not kept
}

type rankedPlace struct {
	at   *Place
	last bool // ranks behind all that are not, and is told behind them
	n    int  // places added before
}

// add notes a place. It writes no pointer: a call may hold a hundred thousand places below a long name.
func (f *fewest) add(at *Place, last bool) {
	added := rankedPlace{at: at, last: last, n: f.n}
	f.n++
	i, _ := slices.BinarySearchFunc(f.kept, added, compareRank)
	if i == maxJudged {
		f.more = true
		return
	}
	f.kept = slices.Insert(f.kept, i, added)
	if len(f.kept) > maxJudged {
		f.kept, f.more = f.kept[:maxJudged], true
	}
}

// pointers returns the pointers of the places kept, as far as they fit into room bytes together, in the order in
// which the places were added. left is the room that is left.
func (f *fewest) pointers(room int) (pointers []string, left int, more bool) {
	kept, more := f.kept, f.more
	for i, p := range kept {
		if p.at.Size() > room {
			kept, more = kept[:i], true
			break
		}
		room -= p.at.Size()
	}
	kept = slices.Clone(kept)
	slices.SortFunc(kept, func(a, b rankedPlace) int { return cmp.Or(compareBool(a.last, b.last), a.n-b.n) })
	for _, p := range kept {
		pointers = append(pointers, p.at.Pointer())
	}
	return pointers, room, more
}

func compareRank(a, b rankedPlace) int {
	return cmp.Or(compareBool(a.last, b.last), a.at.Size()-b.at.Size(), comparePlaces(a.at, b.at))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// comparePlaces compares the last steps first: places with much in common share what is above.
func comparePlaces(a, b *Place) int {
	for a != b && a != nil && b != nil {
		if c := cmp.Or(a.index-b.index, strings.Compare(a.name, b.name)); c != 0 {
			return c
		}
		a, b = a.up, b.up
	}
	return 0
}
