package phases

import (
	"bytes"
	"math"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Strict is one JSON document that is known to be strict: one value, UTF-8, no name twice in an object. Only what
// checks the bytes, or puts checked parts together, makes one: NewStrict and Chain.Document. So what is given a Strict
// need not check it again.
//
// The memory is shared, and no holder writes to it. A Strict is safe for concurrent use.
type Strict struct {
	raw   jsontext.Value // without white space around it
	once  sync.Once
	nodes []node // made when a value is first looked for
}

// NewStrict checks that raw is one strict document of at most maxBytes bytes. The Strict shares its memory. The error
// is a *DecodeError.
func NewStrict(raw jsontext.Value, maxBytes int) (*Strict, error) {
	if err := checkJSON(raw, limits{maxBytes: max(maxBytes, 1), maxDepth: maxCanonicalDepth}); err != nil {
		return nil, err
	}
	return &Strict{raw: trim(raw)}, nil
}

// IsStrict reports whether raw is one strict document: one that NewStrict takes, however large.
func IsStrict(raw jsontext.Value) bool {
	return checkJSON(raw, limits{maxBytes: math.MaxInt, maxDepth: maxCanonicalDepth}) == nil
}

// Bytes returns the document without white space around it; nil of a nil Strict. The caller must not change them.
func (s *Strict) Bytes() jsontext.Value {
	if s == nil {
		return nil
	}
	return s.raw
}

// Holds reports whether raw is this document: the very same memory, not only equal bytes.
func (s *Strict) Holds(raw jsontext.Value) bool { return s != nil && sameMemory(s.raw, raw) }

func sameMemory(a, b []byte) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }

// maxNodes is how many values of a document have a place in its index, the first ones of the outer levels: an index of
// a hostile document would be many times as large as the document.
const maxNodes = 1024

// node is a value of the index. The entries of an object or array lie one after the other.
type node struct {
	name    span  // of an object's entry, with quotes
	value   span  // in the document
	first   int32 // of its entries in the index
	entries int32
	indexed bool // its entries are in the index, or it has none
	escaped bool // its name has escapes
}

// index puts the entries of the outer objects and arrays into nodes, level by level, until the limit is reached.
func (s *Strict) index() {
	s.nodes = make([]node, 1, 32)
	s.nodes[0].value = span{0, len(s.raw)}
	left := 8 * len(s.raw) // bytes that may be passed over: a document of many levels has its outer ones indexed
	for at := 0; at < len(s.nodes); at++ {
		from := s.nodes[at].value.start
		if c := s.raw[from]; c != '{' && c != '[' {
			s.nodes[at].indexed = true
			continue
		}
		if left -= s.nodes[at].value.end - from; left < 0 {
			return
		}
		first := len(s.nodes)
		walk(s.raw, from, func(m member) bool {
			s.nodes = append(s.nodes, node{name: m.name, value: m.value,
				escaped: bytes.IndexByte(s.raw[m.name.start:m.name.end], '\\') >= 0})
			return len(s.nodes) <= maxNodes
		})
		if len(s.nodes) > maxNodes {
			s.nodes = s.nodes[:first]
			continue // it is looked through, and smaller ones after it may have room
		}
		n := &s.nodes[at]
		n.first, n.entries, n.indexed = int32(first), int32(len(s.nodes)-first), true
	}
}

// Find is FindCounted on the document: value, work and error are the same, the work is done by the index.
func (s *Strict) Find(ptr string) (v jsontext.Value, found bool, took Looked, err error) {
	if err := CheckPointer(ptr); err != nil {
		return nil, false, took, err
	}
	s.once.Do(s.index)
	at := 0
	for p := ptr; p != ""; {
		n := &s.nodes[at]
		if !n.indexed {
			return s.scan(n.value.start, ptr, p, took)
		}
		var token string
		token, p = splitToken(p)
		next, found, err := s.entry(n, token, &took)
		if err != nil {
			return nil, false, took, &pointerError{ptr, err.Error()}
		}
		if !found {
			return nil, false, took, nil
		}
		at = next
	}
	sp := s.nodes[at].value
	took.Bytes = sp.end
	return s.raw[sp.start:sp.end:sp.end], true, took, nil
}

// entry is child on the index: the entry that token names in n.
func (s *Strict) entry(n *node, token string, took *Looked) (at int, found bool, err error) {
	object := s.raw[n.value.start] == '{'
	if !object && s.raw[n.value.start] != '[' {
		return 0, false, nil
	}
	passed := n.value.start + 1
	want := -1
	if !object {
		var isIndex bool
		if want, isIndex = arrayIndex(token); !isIndex {
			took.Bytes = max(took.Bytes, passed)
			return 0, false, errIndex
		}
	}
	entries := s.nodes[n.first : n.first+n.entries]
	for i := range entries {
		e := &entries[i]
		took.Entries++
		if e.escaped {
			took.Entries += escapedName + (e.name.end-e.name.start)/16
		}
		if i == want || object && s.named(e, token) {
			took.Bytes = max(took.Bytes, passed)
			return int(n.first) + i, true, nil
		}
		passed = e.value.end
	}
	took.Bytes = max(took.Bytes, n.value.end-1)
	return 0, false, nil
}

func (s *Strict) named(e *node, token string) bool {
	if e.escaped {
		return nameIs(s.raw[e.name.start:e.name.end], token)
	}
	return string(s.raw[e.name.start+1:e.name.end-1]) == token
}

// scan goes on without the index: rest of the pointer ptr, from the value at i.
func (s *Strict) scan(i int, ptr, rest string, took Looked) (jsontext.Value, bool, Looked, error) {
	for p := rest; p != ""; {
		var token string
		token, p = splitToken(p)
		m, found, err := child(s.raw, i, token, &took)
		if err != nil {
			return nil, false, took, &pointerError{ptr, err.Error()}
		}
		if !found {
			return nil, false, took, nil
		}
		i = m.value.start
	}
	end, ok := skipValue(s.raw, i)
	if !ok {
		return nil, false, took, nil
	}
	took.Bytes = end
	return s.raw[i:end:end], true, took, nil
}
