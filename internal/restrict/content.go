package restrict

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// Hasher digests the columns of one row, each with its type and its length. The zero
// value is ready; it may be used again after Sum. It is not safe for concurrent use.
type Hasher struct{ b []byte }

// Int adds an integer.
func (h *Hasher) Int(n int64) {
	h.b = binary.BigEndian.AppendUint64(append(h.b, 'i'), uint64(n))
}

// Text adds a text.
func (h *Hasher) Text(s string) { h.b = append(h.sized('t', len(s)), s...) }

// TextBytes is Text for bytes that hold a text.
func (h *Hasher) TextBytes(s []byte) { h.b = append(h.sized('t', len(s)), s...) }

// Blob adds bytes.
func (h *Hasher) Blob(b []byte) { h.b = append(h.sized('b', len(b)), b...) }

// Other adds a value that no column should have.
func (h *Hasher) Other(kind byte) { h.b = append(h.b, 'x', kind) }

func (h *Hasher) sized(kind byte, n int) []byte {
	return binary.BigEndian.AppendUint64(append(h.b, kind), uint64(n))
}

// Sum returns the digest of the added rows, and forgets them.
func (h *Hasher) Sum() Digest {
	d := Digest(sha256.Sum256(h.b))
	h.b = h.b[:0]
	return d
}

// Key joins the parts of a key. Different parts give different keys, and a key can be
// shown as it is.
func Key(parts ...string) string {
	var out []byte
	for i, p := range parts {
		if i > 0 {
			out = append(out, ' ')
		}
		out = strconv.AppendQuoteToASCII(out, p)
	}
	return string(out)
}
