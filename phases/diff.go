package phases

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Diff returns the pointers at which b really differs from a, sorted: members
// added, removed or changed, the deepest pointer of up to 1 KiB that says it; an array whose
// length changed is named itself. Spelling (white space, escapes, 1.0 for 1)
// makes no difference. Never nil.
func Diff(a, b jsontext.Value) []string {
	out := diff([]string{}, nil, trim(a), trim(b))
	slices.Sort(out)
	return slices.Compact(out)
}

func diff(out []string, at *Place, value, b jsontext.Value) []string {
	if string(value) == string(b) {
		return out
	}
	ka, kb := kindOf(value), kindOf(b)
	switch {
	case ka == '{' && kb == '{':
		return diffObjects(out, at, value, b)
	case ka == '[' && kb == '[':
		as, bs := elements(value), elements(b)
		if len(as) != len(bs) {
			return appendPlace(out, at)
		}
		for i := range as {
			out = diff(out, at.Element(i), as[i], bs[i])
		}
		return out
	case Same(value, b):
		return out
	}
	return appendPlace(out, at)
}

func diffObjects(out []string, at *Place, a, b jsontext.Value) []string {
	old := map[string]jsontext.Value{}
	walk(a, 0, func(m member) bool {
		name, _ := unquote(a[m.name.start:m.name.end])
		old[name] = a[m.value.start:m.value.end]
		return true
	})
	walk(b, 0, func(m member) bool {
		name, _ := unquote(b[m.name.start:m.name.end])
		if v, ok := old[name]; ok {
			out = diff(out, at.Member(name), v, b[m.value.start:m.value.end])
			delete(old, name)
		} else {
			out = appendPlace(out, at.Member(name))
		}
		return true
	})
	for name := range old {
		out = appendPlace(out, at.Member(name))
	}
	return out
}

// appendPlace adds a place, unless it is the last one: places below a long name have one pointer.
func appendPlace(out []string, at *Place) []string {
	if ptr := at.Pointer(); len(out) == 0 || out[len(out)-1] != ptr {
		return append(out, ptr)
	}
	return out
}

// elements returns the elements of an array, sharing its memory.
func elements(raw jsontext.Value) []jsontext.Value {
	var out []jsontext.Value
	walk(raw, skipSpace(raw, 0), func(m member) bool {
		out = append(out, raw[m.value.start:m.value.end:m.value.end])
		return true
	})
	return out
}
