package wasm

// LEB128 as WebAssembly uses it: at most ceil(N/7) bytes for an N-bit integer, padding
// allowed, and the unused bits of the last possible byte are zero or the sign.

type lebStatus uint8

const (
	lebOK lebStatus = iota
	lebShort
	lebLong
)

func (s lebStatus) String() string {
	if s == lebShort {
		return "unexpected end in an integer"
	}
	return "integer too long or too large"
}

// readU32 decodes an unsigned 32-bit integer at the start of b.
func readU32(b []byte) (v uint32, n int, st lebStatus) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint32(b[0]), 1, lebOK
	}
	for i := range 5 {
		if i >= len(b) {
			return 0, 0, lebShort
		}
		c := b[i]
		if i == 4 && c > 0x0f {
			return 0, 0, lebLong
		}
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1, lebOK
		}
	}
	return 0, 0, lebLong
}

// readSigned decodes a signed integer of the given width (32, 33 or 64 bits).
func readSigned(b []byte, bits int) (v int64, n int, st lebStatus) {
	last := (bits + 6) / 7
	for i := range last {
		if i >= len(b) {
			return 0, 0, lebShort
		}
		c := b[i]
		if i == last-1 {
			// The bits of this byte from the sign bit on must all be equal.
			sign := bits - 1 - 7*i
			top := c & 0x7f >> sign
			if c >= 0x80 || top != 0 && top != 0x7f>>sign {
				return 0, 0, lebLong
			}
		}
		v |= int64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if s := 7 * (i + 1); s < 64 {
				v = v << (64 - s) >> (64 - s)
			}
			return v, i + 1, lebOK
		}
	}
	return 0, 0, lebLong
}

// AppendU32 appends v as unsigned LEB128 in its shortest form.
func AppendU32(dst []byte, v uint32) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// AppendS64 appends v as signed LEB128 in its shortest form. It also serves for
// sign-extended i32 and 33-bit block types.
func AppendS64(dst []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(dst, c)
		}
		dst = append(dst, c|0x80)
	}
}
