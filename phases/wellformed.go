package phases

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// wellFormed reports whether data is one strict JSON document in which objects and arrays nest at most maxDepth deep.
// It passes over the bytes once. False says nothing: a name with an escape and whatever else is rare is left to the
// JSON library, which also knows the place of a fault. wellFormed takes no document that the library refuses.
func wellFormed(data []byte, maxDepth int) bool {
	right, _ := formOf(data, maxDepth)
	return right
}

// formOf is wellFormed that also tells whether the document is compact: it has no white space between values, and no
// string in it has an escape that its shortest spelling has not. A document that is not well formed is not compact.
func formOf(data []byte, maxDepth int) (right, compact bool) {
	if len(data) > math.MaxInt32 {
		return false, false
	}
	c := formCheck{b: data, left: maxDepth}
	end := c.value(c.space(0))
	right = end > 0 && c.space(end) == len(data)
	return right, right && !c.loose
}

// formCheck checks the form of one document. Each of its methods takes where something begins and returns where it
// ends, or 0: it is not strict, or that cannot be told here.
type formCheck struct {
	b     []byte
	left  int  // how many levels deeper values may nest
	loose bool // there is white space, or an escape that is not the shortest
	names int  // of the objects that are open
	few   [48]shortSpan
	many  []shortSpan // instead of few, once they have been too few
}

// space passes white space.
func (c *formCheck) space(i int) int {
	end := skipSpace(c.b, i)
	c.loose = c.loose || end > i
	return end
}

// push adds a name, without its quotes.
func (c *formCheck) push(name shortSpan) {
	if c.many == nil {
		if c.names < len(c.few) {
			c.few[c.names] = name
			c.names++
			return
		}
		c.many = append(make([]shortSpan, 0, 4*len(c.few)), c.few[:]...)
	}
	c.many = append(c.many[:c.names], name)
	c.names++
}

// pop takes away all names from the first on, and returns them.
func (c *formCheck) pop(first int) []shortSpan {
	last := c.names
	if c.names = first; c.many != nil {
		return c.many[first:last]
	}
	return c.few[first:last]
}

// shortSpan is a span of which a document with many names can have many.
type shortSpan struct{ start, end int32 }

func (c *formCheck) name(n shortSpan) []byte { return c.b[n.start:n.end] }

func (c *formCheck) value(i int) int {
	if i >= len(c.b) {
		return 0
	}
	switch first := c.b[i]; first {
	case '"':
		end, _ := c.text(i)
		return end
	case '{':
		return c.object(i)
	case '[':
		return c.array(i)
	case 't':
		return c.word(i, "true")
	case 'f':
		return c.word(i, "false")
	case 'n':
		return c.word(i, "null")
	default:
		return c.number(i)
	}
}

func (c *formCheck) word(i int, word string) int {
	if len(c.b)-i < len(word) || string(c.b[i:i+len(word)]) != word {
		return 0
	}
	return i + len(word)
}

func (c *formCheck) object(i int) int {
	if c.left--; c.left < 0 {
		return 0
	}
	first := c.names
	for i = c.space(i + 1); i < len(c.b); i = c.space(i + 1) {
		if c.b[i] == '}' && c.names == first { // {}; a comma before it is refused below
			c.left++
			return i + 1
		}
		end, plain := c.text(i)
		if end == 0 || !plain {
			return 0
		}
		c.push(shortSpan{int32(i + 1), int32(end - 1)})
		if i = c.space(end); i >= len(c.b) || c.b[i] != ':' {
			return 0
		}
		if i = c.value(c.space(i + 1)); i == 0 {
			return 0
		}
		if i = c.space(i); i >= len(c.b) {
			return 0
		}
		if c.b[i] == '}' {
			c.left++
			if !c.allDiffer(c.pop(first)) {
				return 0
			}
			return i + 1
		}
		if c.b[i] != ',' {
			return 0
		}
	}
	return 0
}

func (c *formCheck) array(i int) int {
	if c.left--; c.left < 0 {
		return 0
	}
	i = c.space(i + 1)
	if i < len(c.b) && c.b[i] == ']' {
		c.left++
		return i + 1
	}
	for {
		if i = c.value(i); i == 0 {
			return 0
		}
		if i = c.space(i); i >= len(c.b) {
			return 0
		}
		if c.b[i] == ']' {
			c.left++
			return i + 1
		}
		if c.b[i] != ',' {
			return 0
		}
		i = c.space(i + 1)
	}
}

// fewNames is how many names are compared with each other; more are sorted.
const fewNames = 12

// allDiffer reports whether no name is there twice. It may change their order.
func (c *formCheck) allDiffer(names []shortSpan) bool {
	if len(names) > fewNames {
		src := c.b
		slices.SortFunc(names, func(a, b shortSpan) int {
			return bytes.Compare(src[a.start:a.end], src[b.start:b.end])
		})
		for n := 1; n < len(names); n++ {
			if bytes.Equal(c.name(names[n-1]), c.name(names[n])) {
				return false
			}
		}
		return true
	}
	for n, name := range names {
		for _, other := range names[:n] {
			if bytes.Equal(c.name(name), c.name(other)) {
				return false
			}
		}
	}
	return true
}

// text checks a string; plain says that it has no escapes.
func (c *formCheck) text(i int) (end int, plain bool) {
	if i >= len(c.b) || c.b[i] != '"' {
		return 0, false
	}
	plain = true
	for i++; ; {
		if i = plainEnd(c.b, i); i >= len(c.b) {
			return 0, false
		}
		switch b := c.b[i]; {
		case b == '"':
			return i + 1, plain
		case b == '\\':
			plain = false
			if i = c.escape(i + 1); i == 0 {
				return 0, false
			}
		case b < ' ':
			return 0, false
		default:
			r, n := utf8.DecodeRune(c.b[i:])
			if r == utf8.RuneError && n <= 1 {
				return 0, false
			}
			i += n
		}
	}
}

// escape checks what stands behind a backslash.
func (c *formCheck) escape(i int) int {
	if i >= len(c.b) {
		return 0
	}
	switch c.b[i] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case '/':
		c.loose = true
		return i + 1
	case 'u':
		c.loose = true
		unit, ok := hex4(c.b, i+1)
		switch {
		case !ok || unit >= 0xdc00 && unit <= 0xdfff:
			return 0
		case unit < 0xd800 || unit > 0xdfff:
			return i + 5
		}
		if i+6 >= len(c.b) || c.b[i+5] != '\\' || c.b[i+6] != 'u' {
			return 0
		}
		if unit, ok = hex4(c.b, i+7); !ok || unit < 0xdc00 || unit > 0xdfff {
			return 0
		}
		return i + 11
	}
	return 0
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte, i int) (unit int, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|32 >= 'a' && c|32 <= 'f':
			c = c | 32 - 'a' + 10
		default:
			return 0, false
		}
		unit = unit<<4 | int(c)
	}
	return unit, true
}

// PlainEnd returns where the first byte at or behind i stands that is not plain in a JSON string: a quote, a backslash,
// a control character or no ASCII. It is len(b), or i where that is more, when there is none.
func PlainEnd(b []byte, i int) int { return plainEnd(b, i) }

// plainEnd returns where the first byte at or behind i stands that is a quote, a backslash, a control character or no
// ASCII, or len(b). It looks at eight bytes at once.
func plainEnd(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, back := w^('"'*ones), w^('\\'*ones)
		// The lowest top bit that is set is right: borrows reach only bytes above it.
		if found := (w | (w - ' '*ones) | (quote - ones) | (back - ones)) & tops; found != 0 {
			if found = (w | (w-' '*ones)&^w | (quote-ones)&^quote | (back-ones)&^back) & tops; found != 0 {
				return i + bits.TrailingZeros64(found)/8
			}
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

func (c *formCheck) number(i int) int {
	if c.b[i] == '-' {
		i++
	}
	n := c.digits(i)
	if n == 0 || n > 1 && c.b[i] == '0' {
		return 0
	}
	if i += n; i < len(c.b) && c.b[i] == '.' {
		if n = c.digits(i + 1); n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(c.b) && c.b[i]|32 == 'e' {
		if i++; i < len(c.b) && (c.b[i] == '+' || c.b[i] == '-') {
			i++
		}
		if n = c.digits(i); n == 0 {
			return 0
		}
		i += n
	}
	return i
}

// digits returns how many digits stand at i.
func (c *formCheck) digits(i int) (n int) {
	for i+n < len(c.b) && c.b[i+n] >= '0' && c.b[i+n] <= '9' {
		n++
	}
	return n
}
