package phases

import (
	"strconv"
	"strings"
)

// place is where a value stands in a document: a JSON Pointer that is written only where it is
// needed. A document of a mebibyte can have a name of half of that above 200,000 values, whose
// pointers would be 100 GB of text.
type place struct {
	up    *place // nil at the document's root
	name  string // of a member, not escaped
	index int    // of an element; -1 for a member
	bytes int    // of the pointer
}

// argsPlace is the place of a call's arguments in its action.
func argsPlace() *place { return (*place)(nil).member("args") }

func (p *place) member(name string) *place {
	return &place{up: p, name: name, index: -1,
		bytes: p.size() + 1 + len(name) + strings.Count(name, "~") + strings.Count(name, "/")}
}

func (p *place) element(i int) *place {
	digits := 1
	for n := i; n > 9; n /= 10 {
		digits++
	}
	return &place{up: p, index: i, bytes: p.size() + 1 + digits}
}

func (p *place) size() int {
	if p == nil {
		return 0
	}
	return p.bytes
}

// pointer writes the JSON Pointer.
func (p *place) pointer() string {
	var steps []*place
	for ; p != nil; p = p.up {
		steps = append(steps, p)
	}
	var ptr string
	for i := len(steps) - 1; i >= 0; i-- {
		name := steps[i].name
		if steps[i].index >= 0 {
			name = strconv.Itoa(steps[i].index)
		}
		ptr = Join(ptr, name)
	}
	return ptr
}
