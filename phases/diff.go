package phases

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Diff returns the pointers at which b really differs from a, sorted: members
// added, removed or changed, the deepest pointer that says it; an array whose
// length changed is named itself. Spelling (white space, escapes, 1.0 for 1)
// makes no difference. Never nil.
func Diff(a, b jsontext.Value) []string {
	out := diff([]string{}, "", trim(a), trim(b))
	slices.Sort(out)
	return out
}

func diff(out []string, ptr string, value, b jsontext.Value) []string {
	if string(value) == string(b) {
		return out
	}
	ka, kb := kindOf(value), kindOf(b)
	switch {
	case ka == '{' && kb == '{':
		return diffObjects(out, ptr, value, b)
	case ka == '[' && kb == '[':
		as, bs := elements(value), elements(b)
		if len(as) != len(bs) {
			return append(out, ptr)
		}
		for i := range as {
			out = diff(out, Join(ptr, itoa(i)), as[i], bs[i])
		}
		return out
	case Same(value, b):
		return out
	}
	return append(out, ptr)
}

func diffObjects(out []string, ptr string, a, b jsontext.Value) []string {
	old := map[string]jsontext.Value{}
	walk(a, 0, func(m member) bool {
		name, _ := unquote(a[m.name.start:m.name.end])
		old[name] = a[m.value.start:m.value.end]
		return true
	})
	walk(b, 0, func(m member) bool {
		name, _ := unquote(b[m.name.start:m.name.end])
		if v, ok := old[name]; ok {
			out = diff(out, Join(ptr, name), v, b[m.value.start:m.value.end])
			delete(old, name)
		} else {
			out = append(out, Join(ptr, name))
		}
		return true
	})
	for name := range old {
		out = append(out, Join(ptr, name))
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
