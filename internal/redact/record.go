package redact

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Record redacts the secrets of several documents and texts that belong
// together. It finds a secret of one of them in later ones, from MinKnown bytes
// on, in the usual encodings, and piece by piece: a line of a private key, or
// half of a token, says nothing of itself where a hook quotes it. Give it
// earlier texts again once Known has grown. It is not safe for concurrent use.
type Record struct {
	pieces pieces
	known  known
	looked map[string][]Finding // what a text shows of itself, so that it is looked through once
	size   int                  // bytes of looked

	seen []seenSecret // in the document that is being redacted
}

type seenSecret struct{ kind, secret string }

// maxLooked is how many bytes of texts without findings a record remembers.
const maxLooked = 4 << 20

// NewRecord returns a Record that has seen nothing.
func NewRecord() *Record { return new(Record) }

// Fork returns a Record of its own that knows what c knows now, for what happens
// on behalf of the same action.
func (c *Record) Fork() *Record {
	out := NewRecord()
	for i, s := range c.known.secrets {
		out.see(c.known.kinds[i], s)
	}
	for _, s := range c.pieces.secrets {
		out.see("fragment", s)
	}
	out.learn()
	return out
}

// JSON redacts like Redactor.JSON, and known secrets as well.
func (c *Record) JSON(r *Redactor, raw jsontext.Value) (jsontext.Value, []string, error) {
	k := r.sit(c)
	out, masked, err := k.own.JSON(raw)
	k.leave()
	c.learn()
	return out, masked, err
}

// Text redacts like Redactor.Text, and known secrets as well.
func (c *Record) Text(r *Redactor, s string) (string, []Finding) {
	k := r.sit(c)
	out, found := k.own.Text(s)
	k.leave()
	c.learn()
	return out, found
}

// Known counts the secrets that the record finds elsewhere, completely or in
// pieces.
func (c *Record) Known() int { return len(c.pieces.secrets) + len(c.known.secrets) }

func (c *Record) see(kind, secret string) {
	if len(secret) >= MinKnown {
		c.seen = append(c.seen, seenSecret{kind, secret})
	}
}

// learn takes over the secrets found since the last call.
func (c *Record) learn() {
	for _, s := range c.seen {
		if s.kind != "fragment" && s.kind != "unread" && s.kind != "too-long" {
			c.known.learn(s.kind, s.secret)
		}
		c.pieces.learn(s.secret)
	}
	c.seen = nil
}

// remember keeps what a text shows of itself, unless that is quickly found out again: nothing, of a text that is known
// to be harmless or short.
func (c *Record) remember(s string, found []Finding) {
	if c.size+len(s) > maxLooked || len(found) == 0 && len(s) <= maxHarmless {
		return
	}
	if c.looked == nil {
		c.looked = map[string][]Finding{}
	}
	c.size += len(s)
	c.looked[s] = found
}

// knows reports whether there is anything to look for.
func (c *Record) knows() bool { return c != nil && c.Known() > 0 }

// find reports where something stands that is known from elsewhere.
func (c *Record) find(s string, add func(kind string, from, to int, secret string)) {
	c.known.find(s, add)
	c.pieces.find(s, func(kind string, from, to int) { add(kind, from, to, "") })
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
	have    map[string]bool
	at      map[[pieceWindow]byte]place
	heads   *headSet // by headHash of the first bytes of a window
}

// place is a byte of one of the secrets.
type place struct{ secret, offset int32 }

func (p *pieces) learn(s string) {
	if len(s) < minPiece || p.have[s] {
		return
	}
	if p.at == nil {
		p.at, p.have, p.heads = map[[pieceWindow]byte]place{}, map[string]bool{}, new(headSet)
	}
	n := int32(len(p.secrets))
	p.secrets, p.have[s] = append(p.secrets, s), true
	for i := 0; i+pieceWindow <= len(s); i += pieceStep {
		w := [pieceWindow]byte([]byte(s[i : i+pieceWindow]))
		if !varied(w) {
			continue
		}
		if _, known := p.at[w]; !known {
			p.at[w] = place{n, int32(i)}
			p.heads.add(headHash(s[i:]))
		}
	}
}

// find reports the runs of s that stand in a known secret.
func (p *pieces) find(s string, add func(kind string, from, to int)) {
	if p == nil || len(p.at) == 0 {
		return
	}
	for i := 0; i+pieceWindow <= len(s); {
		if !p.heads.has(headHash(s[i:])) {
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
