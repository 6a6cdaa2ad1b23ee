package redact

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Record covers the secrets of several documents and texts that belong together.
// What it has covered in one of them it knows in those that come later, also
// piece by piece: a line of a private key, or half of a token, says nothing of
// itself where a hook quotes it. It is not safe for concurrent use.
type Record struct {
	pieces pieces
}

// NewRecord returns a Record that has seen nothing.
func NewRecord() *Record { return new(Record) }

// JSON covers like Redactor.JSON, and what it knows from before.
func (c *Record) JSON(r *Redactor, raw jsontext.Value) (jsontext.Value, []string, error) {
	var seen []string
	out, masked, err := c.with(r, &seen).JSON(raw)
	c.pieces.learn(seen)
	return out, masked, err
}

// Text covers like Redactor.Text, and what it knows from before.
func (c *Record) Text(r *Redactor, s string) (string, []Finding) {
	var seen []string
	out, found := c.with(r, &seen).Text(s)
	c.pieces.learn(seen)
	return out, found
}

// Known counts the secrets whose pieces it would find.
func (c *Record) Known() int { return len(c.pieces.secrets) }

func (c *Record) with(r *Redactor, seen *[]string) *Redactor {
	own := *r
	own.seen, own.pieces = seen, &c.pieces
	return &own
}

// A run of at least minPiece bytes that also stands in a secret is a piece of it:
// every piece of that length holds a window that begins at a multiple of
// pieceStep, and only those are kept.
const (
	pieceWindow = 12
	pieceStep   = 5
	minPiece    = pieceWindow + pieceStep - 1
)

// pieces finds parts of texts that are known to be secret. The zero value knows none.
type pieces struct {
	secrets []string
	at      map[[pieceWindow]byte]place
	heads   [1 << 8]uint64 // a bit for each hash of the first bytes of a window
}

// place is a byte of one of the secrets.
type place struct{ secret, offset int32 }

func (p *pieces) learn(secrets []string) {
	for _, s := range secrets {
		if len(s) < minPiece || slices.Contains(p.secrets, s) {
			continue
		}
		if p.at == nil {
			p.at = map[[pieceWindow]byte]place{}
		}
		n := int32(len(p.secrets))
		p.secrets = append(p.secrets, s)
		for i := 0; i+pieceWindow <= len(s); i += pieceStep {
			w := [pieceWindow]byte([]byte(s[i : i+pieceWindow]))
			if !varied(w) {
				continue
			}
			if _, known := p.at[w]; !known {
				p.at[w] = place{n, int32(i)}
				h := headHash(s[i:])
				p.heads[h>>6] |= 1 << (h & 63)
			}
		}
	}
}

// find reports the runs of s that stand in a known secret.
func (p *pieces) find(s string, add func(kind string, from, to int)) {
	if p == nil || len(p.at) == 0 {
		return
	}
	for i := 0; i+pieceWindow <= len(s); {
		h := headHash(s[i:])
		if p.heads[h>>6]&(1<<(h&63)) == 0 {
			i++
			continue
		}
		hit, ok := p.at[[pieceWindow]byte([]byte(s[i:i+pieceWindow]))]
		if !ok {
			i++
			continue
		}
		secret, from, to := p.secrets[hit.secret], i, i+pieceWindow
		for k := int(hit.offset); k > 0 && from > 0 && secret[k-1] == s[from-1]; k-- {
			from--
		}
		for k := int(hit.offset) + pieceWindow; k < len(secret) && to < len(s) && secret[k] == s[to]; k++ {
			to++
		}
		if to-from >= minPiece {
			add("fragment", from, to)
			i = to
			continue
		}
		i++
	}
}

// varied keeps runs of dashes, blanks and the like from being taken for a piece.
func varied(w [pieceWindow]byte) bool {
	slices.Sort(w[:])
	different, letters := 1, 0
	for i := range w {
		if i > 0 && w[i] != w[i-1] {
			different++
		}
		if word[w[i]] {
			letters++
		}
	}
	return different >= 5 && letters >= 8
}

// headHash mixes four bytes into 14 bits.
func headHash(s string) uint32 {
	return (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24) * 2654435761 >> 18
}
