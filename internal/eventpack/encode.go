package eventpack

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/s2"
)

// The encoder of package s2 has a table of 64 KB on its stack, to which the stack of each goroutine that
// packs would grow, and clears it for each block. The encoder here makes blocks of the same format, which
// package s2 opens, as small and in about the same time, with tables that fit the few kilobytes of a batch.
// The format: s2/README.md of github.com/klauspost/compress.

const (
	smallBits = 11                 // of the table of what a small block has had
	largeBits = 14                 // of a larger one
	small     = 4 << 10            // bytes of a block that is small
	dictBits  = 13                 // of the table of the dictionary
	longest   = 48 << 10           // bytes of a block that is encoded here; offsets need two bytes then
	margin    = 8                  // bytes that are read at once
	hashed    = 6                  // bytes of which a place in a table is made
	factor    = 0x9E3779B97F4A7C15 // 2^64 by the golden ratio
	skipShift = 4                  // how soon steps become longer where nothing repeats
)

// places are tables of where hashes were met: 1 more than the position, 0 for nowhere.
type (
	blockPlaces [1 << largeBits]uint16
	dictPlaces  [1 << dictBits]uint16
)

// encoder encodes blocks with one dictionary. It is safe for concurrent use.
type encoder struct {
	dict   []byte
	repeat int // the offset of a repetition at the beginning of a block
	places dictPlaces
	tables sync.Pool // of *blockPlaces
	large  func([]byte, []byte) []byte
}

func newEncoder(dict []byte, firstIndex int, of *s2.Dict) *encoder {
	e := &encoder{dict: dict, repeat: len(dict) - firstIndex, large: of.Encode,
		tables: sync.Pool{New: func() any { return new(blockPlaces) }}}
	for i := 0; i+margin <= len(dict); i++ {
		e.places[hash(binary.LittleEndian.Uint64(dict[i:]))>>(64-dictBits)] = uint16(i + 1)
	}
	return e
}

// hash returns a digest of the first bytes, whose first bits are the place in a table.
func hash(u uint64) uint64 { return u << (64 - 8*hashed) * factor }

// encode appends a block of src to dst.
func (e *encoder) encode(dst, src []byte) []byte {
	if len(src) > longest {
		return append(dst, e.large(nil, src)...)
	}
	start := len(dst)
	dst = binary.AppendUvarint(dst, uint64(len(src)))
	head := len(dst)
	t := e.tables.Get().(*blockPlaces)
	width := uint(smallBits)
	if len(src) > small {
		width = largeBits
	}
	clear(t[:1<<width])
	dst = e.body(dst, src, t, width)
	e.tables.Put(t)
	if len(dst)-head > len(src)+3 {
		dst = literal(binary.AppendUvarint(dst[:start], uint64(len(src))), src)
	}
	return dst
}

// body appends the elements of a block.
func (e *encoder) body(dst, src []byte, t *blockPlaces, width uint) []byte {
	last, written := e.repeat, 0
	dict := e.dict
	for at := 0; at+margin <= len(src); {
		u := binary.LittleEndian.Uint64(src[at:])
		h := hash(u)
		place := &t[h>>((64-width)%64)%(1<<largeBits)]
		before := int(*place) - 1
		*place = uint16(at + 1)
		// What is repeated like the element before takes the fewest bytes; then what is near.
		offset := 0
		if from := at - last; from >= 0 && binary.LittleEndian.Uint32(src[from:]) == uint32(u) ||
			from < 0 && from+len(dict) >= 0 && from <= -4 && binary.LittleEndian.Uint32(dict[from+len(dict):]) == uint32(u) {
			offset = last
		} else if before >= 0 && binary.LittleEndian.Uint32(src[before:]) == uint32(u) {
			offset = at - before
		} else if inDict := int(e.places[h>>(64-dictBits)]) - 1; inDict >= 0 &&
			binary.LittleEndian.Uint32(dict[inDict:]) == uint32(u) {
			offset = at + len(dict) - inDict
		} else {
			if src[at] == mark { // a digest that was not met before, of which no part was either
				at += digits / 2
			}
			at += 1 + (at-written)>>skipShift
			continue
		}
		length := e.match(src, at, offset)
		for at > written && e.before(src, at, offset) {
			at, length = at-1, length+1
		}
		dst = literal(dst, src[written:at])
		if offset == last {
			dst = repetition(dst, offset, length)
		} else {
			dst = reference(dst, offset, length)
		}
		at += length
		last, written = offset, at
		if at+margin <= len(src) { // what follows may repeat the end of this one
			t[hash(binary.LittleEndian.Uint64(src[at-2:]))>>((64-width)%64)%(1<<largeBits)] = uint16(at - 2 + 1)
		}
	}
	return literal(dst, src[written:])
}

// match returns how many bytes at a position repeat those so far before it. What begins in
// the dictionary ends there.
func (e *encoder) match(src []byte, at, offset int) int {
	if from := at - offset; from >= 0 {
		return common(src[at:], src[from:])
	}
	return common(src[at:], e.dict[at-offset+len(e.dict):])
}

// before reports whether the byte before a position is repeated as well.
func (e *encoder) before(src []byte, at, offset int) bool {
	if from := at - offset; from > 0 {
		return src[at-1] == src[from-1]
	} else if from += len(e.dict); at < offset && from > 0 {
		return src[at-1] == e.dict[from-1]
	}
	return false
}

// common returns how many bytes both begin with.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Tags of elements.
const (
	tagLiteral = 0
	tagNear    = 1 // length 4 to 11, offset below 2048; offset 0 repeats the last one
	tagFar     = 2 // length 1 to 64, offset of two bytes
)

func literal(dst, b []byte) []byte {
	if len(b) == 0 {
		return dst
	}
	switch n := len(b) - 1; {
	case n < 60:
		dst = append(dst, byte(n)<<2|tagLiteral)
	case n < 1<<8:
		dst = append(dst, 60<<2|tagLiteral, byte(n))
	default:
		dst = append(dst, 61<<2|tagLiteral, byte(n), byte(n>>8))
	}
	return append(dst, b...)
}

// reference appends a copy of 4 bytes or more.
func reference(dst []byte, offset, length int) []byte {
	switch {
	case length < 12 && offset < 2048:
		return append(dst, byte(offset>>8)<<5|byte(length-4)<<2|tagNear, byte(offset))
	case length <= 64:
		return append(dst, byte(length-1)<<2|tagFar, byte(offset), byte(offset>>8))
	case offset < 2048:
		return repetition(append(dst, byte(offset>>8)<<5|(8-4)<<2|tagNear, byte(offset)), offset, length-8)
	}
	return repetition(append(dst, (60-1)<<2|tagFar, byte(offset), byte(offset>>8)), offset, length-60)
}

// repetition appends a copy of 4 bytes or more with the offset of the element before.
func repetition(dst []byte, offset, length int) []byte {
	switch n := length - 4; {
	case n <= 4:
		return append(dst, byte(n)<<2|tagNear, 0)
	case n < 8 && offset < 2048:
		return append(dst, byte(offset>>8)<<5|byte(n)<<2|tagNear, byte(offset))
	case n < 1<<8+4:
		return append(dst, 5<<2|tagNear, 0, byte(n-4))
	default: // no block here is longer than two bytes say
		n -= 1 << 8
		return append(dst, 6<<2|tagNear, 0, byte(n), byte(n>>8))
	}
}
