package phases

import (
	"strconv"
	"strings"
)

// Place is where a value stands in a document: a JSON Pointer that is written only where it is
// needed. A document of a mebibyte can have a name of half of that above 200,000 values, whose
// pointers would be 100 GB of text. Nil is the root. It does not change and is safe for concurrent use.
type Place struct {
	up    *Place
	name  string // of a member, not escaped
	index int    // of an element; -1 for a member
	bytes int    // of the pointer
}

// Member returns the place of a member of the value at p.
func (p *Place) Member(name string) *Place {
	return &Place{up: p, name: name, index: -1,
		bytes: p.Size() + 1 + len(name) + strings.Count(name, "~") + strings.Count(name, "/")}
}

// Element returns the place of an element, counted from 0, of the value at p.
func (p *Place) Element(i int) *Place {
	digits := 1
	for n := i; n > 9; n /= 10 {
		digits++
	}
	return &Place{up: p, index: i, bytes: p.Size() + 1 + digits}
}

// Size is the length of the pointer in bytes.
func (p *Place) Size() int {
	if p == nil {
		return 0
	}
	return p.bytes
}

// Name is the name of the nearest member at or above p whose name is more than digits, or "".
func (p *Place) Name() string {
	for ; p != nil; p = p.up {
		if p.index < 0 && strings.Trim(p.name, "0123456789") != "" {
			return p.name
		}
	}
	return ""
}

// Pointer writes the JSON Pointer. A pointer of more than 1 KiB is none that a hook could use: then it is
// that of the nearest value above whose pointer is not so long.
func (p *Place) Pointer() string {
	for p.Size() > maxPathBytes {
		p = p.up
	}
	var steps []*Place
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
