package redact

import "encoding/binary"

// headSet has a bit for each head that something looked for begins with: it says at once that nothing begins
// at a place.
type headSet [1 << 10]uint64

func (h *headSet) add(head uint16)      { h[head/64] |= 1 << (head % 64) }
func (h *headSet) has(head uint16) bool { return h[head/64]>>(head%64)&1 != 0 }

const headBits = 14

// headHash mixes the first four bytes of a text into headBits bits.
func headHash(s string) uint16 {
	return uint16(binary.LittleEndian.Uint32([]byte(s[:4])) * 2654435761 >> (32 - headBits))
}
