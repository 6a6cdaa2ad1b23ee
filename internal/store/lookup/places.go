package lookup

import (
	"encoding/binary"
	"math/bits"
)

// BlockEvents is the number of events in a block: block n has events n*BlockEvents+1 to
// (n+1)*BlockEvents.
const BlockEvents = 1024

// BlockOf returns the block of an event, and its place there.
func BlockOf(seq int64) (block int64, place int) {
	return (seq - 1) / BlockEvents, int((seq - 1) % BlockEvents)
}

// Places is a set of events of a block.
type Places [BlockEvents / 64]uint64

// Add puts the event at a place in.
func (p *Places) Add(i int) { p[i/64] |= 1 << (i % 64) }

// Has reports whether the event at a place is in.
func (p *Places) Has(i int) bool { return p[i/64]>>(i%64)&1 == 1 }

func (p *Places) count() (n int) {
	for _, w := range p {
		n += bits.OnesCount64(w)
	}
	return n
}

// And keeps what is in other as well.
func (p *Places) And(other *Places) {
	for i := range p {
		p[i] &= other[i]
	}
}

// Without keeps what is not in other.
func (p *Places) Without(other *Places) {
	for i := range p {
		p[i] &^= other[i]
	}
}

const bitmapBytes = BlockEvents / 8

// Bytes returns the stored form: nothing for all events, two bytes for each of a few, else a
// bit for each event.
func (p *Places) Bytes() []byte {
	n := p.count()
	switch {
	case n == BlockEvents:
		return nil
	case 2*n >= bitmapBytes:
		out := make([]byte, 0, bitmapBytes)
		for _, w := range p {
			out = binary.LittleEndian.AppendUint64(out, w)
		}
		return out
	}
	out := make([]byte, 0, 2*n)
	for i, w := range p {
		for ; w != 0; w &= w - 1 {
			out = binary.LittleEndian.AppendUint16(out, uint16(64*i+bits.TrailingZeros64(w)))
		}
	}
	return out
}

// ParsePlaces reads the stored form; ok is false for what is none.
func ParsePlaces(b []byte) (p Places, ok bool) {
	switch {
	case len(b) == 0:
		for i := range p {
			p[i] = ^uint64(0)
		}
	case len(b) == bitmapBytes:
		for i := range p {
			p[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	case len(b) < bitmapBytes && len(b)%2 == 0:
		for ; len(b) > 0; b = b[2:] {
			i := int(binary.LittleEndian.Uint16(b))
			if i >= BlockEvents {
				return Places{}, false
			}
			p.Add(i)
		}
	default:
		return Places{}, false
	}
	return p, true
}
