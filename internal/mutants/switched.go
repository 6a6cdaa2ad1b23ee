package mutants

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// edit puts text at a place of a file, in place of so many bytes. span tells
// edits at the same place apart: an outer edit begins before an inner one, and
// ends behind it.
type edit struct {
	at, remove int
	text       string
	span       int // the size of what a begin or an end surrounds
	end        bool
	id         int
}

// surround puts text before and behind a piece of a file.
func surround(from, to int, before, behind string) []edit {
	return []edit{{at: from, text: before, span: to - from}, {at: to, text: behind, span: to - from, end: true}}
}

// switched returns the file with the switched forms of changes: ids holds the number of each, 0 leaves one out.
// Lines stay where they are.
func switched(src []byte, changes []Change, ids []int) []byte {
	var all []edit
	for n, c := range changes {
		if ids[n] == 0 || c.edits == nil {
			continue
		}
		for _, e := range c.edits(ids[n]) {
			e.id = ids[n]
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b edit) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		kind := func(e edit) int { // ends, then begins, then what takes the place of an operator
			switch {
			case e.end:
				return 0
			case e.remove == 0:
				return 1
			}
			return 2
		}
		if c := cmp.Compare(kind(a), kind(b)); c != 0 {
			return c
		}
		if a.end {
			return cmp.Or(cmp.Compare(a.span, b.span), cmp.Compare(b.id, a.id))
		}
		return cmp.Or(cmp.Compare(b.span, a.span), cmp.Compare(a.id, b.id))
	})
	var b strings.Builder
	at := 0
	for _, e := range all {
		b.Write(src[at:e.at])
		b.WriteString(e.text)
		at = e.at + e.remove
	}
	b.Write(src[at:])
	return []byte(b.String())
}

// support is the file that each switched package gets: BELAY_MUTANT names the change that is on, BELAY_MUTANT_TRACE
// a file to which the number of every change is added that is reached.
func support(pkg string, changes int) []byte {
	return fmt.Appendf(nil, `package %s

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantActive, _ = strconv.Atoi(os.Getenv("BELAY_MUTANT"))
	mutantTrace     = os.Getenv("BELAY_MUTANT_TRACE")
	mutantReached   [%d]atomic.Bool
)

func mutantOn(id int) bool {
	if mutantTrace != "" && !mutantReached[id].Swap(true) {
		if f, err := os.OpenFile(mutantTrace, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			f.WriteString(strconv.Itoa(id) + "\n")
			f.Close()
		}
	}
	return id == mutantActive
}

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

func mutantMore[T mutantNumber](id int, v T) T {
	if mutantOn(id) {
		return v + 1
	}
	return v
}

func mutantAdd[T mutantNumber](id int, a, b T) T {
	if mutantOn(id) {
		return a - b
	}
	return a + b
}

func mutantSub[T mutantNumber](id int, a, b T) T {
	if mutantOn(id) {
		return a + b
	}
	return a - b
}

func mutantLess[T cmp.Ordered](id int, a, b T) bool         { return a < b || mutantOn(id) && a == b }
func mutantLessEqual[T cmp.Ordered](id int, a, b T) bool    { return a < b || !mutantOn(id) && a == b }
func mutantGreater[T cmp.Ordered](id int, a, b T) bool      { return a > b || mutantOn(id) && a == b }
func mutantGreaterEqual[T cmp.Ordered](id int, a, b T) bool { return a > b || !mutantOn(id) && a == b }

func mutantAnd(id int, a bool, b func() bool) bool {
	if mutantOn(id) {
		return a || b()
	}
	return a && b()
}

func mutantOr(id int, a bool, b func() bool) bool {
	if mutantOn(id) {
		return a && b()
	}
	return a || b()
}

func mutantDrop(id int, err error) error {
	if mutantOn(id) {
		return nil
	}
	return err
}
`, pkg, changes+1)
}
