package lookup

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
)

// Drawers is the number of parts that the terms of a block fall into. A store that pays more for a row than for its
// bytes keeps a row for each drawer, and not for each term: most terms stand in one event only.
const Drawers = 64

// DrawerOf returns the drawer of a term.
func DrawerOf(term int64) int { return int(uint64(term) >> 58) }

// Drawers returns the stored form of a block's drawers: the terms in their order, each with its places. A drawer
// without terms is nil.
func (b *Block) Drawers() [Drawers][]byte {
	var out [Drawers][]byte
	for _, t := range slices.Sorted(maps.Keys(b.Terms)) {
		places := b.Terms[t].Bytes() // no more than bitmapBytes, which fits a byte
		d := binary.BigEndian.AppendUint64(out[DrawerOf(t)], uint64(t))
		out[DrawerOf(t)] = append(append(d, byte(len(places))), places...)
	}
	return out
}

// termHead is how many bytes stand before the places of a term: the term, and how many bytes its places have.
const termHead = 9

// isDrawer reports whether bytes are the stored form of a drawer. Damage anywhere makes all of it say nothing, so that
// it shows at each event that it hides.
func isDrawer(drawer int, stored []byte) bool {
	for last, first := int64(0), true; len(stored) > 0; first = false {
		if len(stored) < termHead || len(stored) < termHead+int(stored[termHead-1]) {
			return false
		}
		term, n := int64(binary.BigEndian.Uint64(stored)), termHead+int(stored[termHead-1])
		if _, ok := ParsePlaces(stored[termHead:n]); !ok || DrawerOf(term) != drawer || !first && term <= last {
			return false
		}
		last, stored = term, stored[n:]
	}
	return true
}

// termsOf returns the terms of a drawer's stored form, each with its places as they are stored.
func termsOf(drawer int, stored []byte) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		if !isDrawer(drawer, stored) {
			return
		}
		for len(stored) > 0 {
			n := termHead + int(stored[termHead-1])
			if !yield(int64(binary.BigEndian.Uint64(stored)), stored[termHead:n]) {
				return
			}
			stored = stored[n:]
		}
	}
}

// LoadDrawer puts a stored drawer in. One that is damaged says nothing of any event.
func (b *Block) LoadDrawer(drawer int, stored []byte) {
	for t, places := range termsOf(drawer, stored) {
		b.Load(t, places)
	}
}

// InDrawer returns where a term stands, from its stored drawer. A term that is not there stands in no event.
func InDrawer(term int64, stored []byte) Places {
	for t, places := range termsOf(DrawerOf(term), stored) {
		if t == term {
			p, _ := ParsePlaces(places)
			return p
		}
	}
	return Places{}
}
