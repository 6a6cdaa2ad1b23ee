package restrict

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// Digest is a SHA-256.
type Digest [sha256.Size]byte

const (
	branches = 16
	levels   = 3 // of branches below a table

	prefix = "sha256:"

	// NodeBytes is the length of what Set.Node returns.
	NodeBytes = branches * sha256.Size
)

// String returns the digest as events record it.
func (d Digest) String() string { return phases.SumDigest(d[:]) }

// Parse reads what String has written, and nothing else.
func Parse(s string) (d Digest, ok bool) {
	text, ok := strings.CutPrefix(s, prefix)
	if !ok || len(text) != 2*sha256.Size {
		return d, false
	}
	if _, err := hex.Decode(d[:], []byte(text)); err != nil || d.String() != s {
		return Digest{}, false
	}
	return d, true
}

// Set is a set of rows. The zero value and nil are the empty set. It never changes, and
// is safe for concurrent use.
type Set struct{ root *node }

type row struct {
	key     string
	content Digest
}

// node is a branch or, at the last level, a bucket. Its owner may change it; one
// without an owner has its hash and is shared.
type node struct {
	owner *Editor
	hash  Digest
	kids  *[branches]*node
	rows  []row // by key
}

func (n *node) sum() Digest {
	if n == nil {
		return Digest{} // no rows
	}
	return n.hash
}

// Tags keep a bucket from passing for a branch.
const (
	tagBucket = 2
	tagBranch = 3
)

func (n *node) digest() Digest {
	if n.kids != nil {
		var b [1 + NodeBytes]byte
		b[0] = tagBranch
		for i, k := range n.kids {
			d := k.sum()
			copy(b[1+i*len(d):], d[:])
		}
		return sha256.Sum256(b[:])
	}
	size := 1
	for i := range n.rows {
		size += 8 + len(n.rows[i].key) + sha256.Size
	}
	b := append(make([]byte, 0, size), tagBucket)
	for i := range n.rows {
		r := &n.rows[i]
		b = binary.BigEndian.AppendUint64(b, uint64(len(r.key)))
		b = append(append(b, r.key...), r.content[:]...)
	}
	return sha256.Sum256(b)
}

func (n *node) find(key string) (int, bool) {
	return slices.BinarySearchFunc(n.rows, key, func(r row, k string) int { return cmp.Compare(r.key, k) })
}

// path returns the branches that lead to a row.
func path(t Table, key string) [1 + levels]byte {
	h := sha256.Sum256([]byte(key))
	return [...]byte{byte(t), h[0] >> 4, h[0] & 15, h[1] >> 4}
}

// Get returns the content of the row with the key.
func (s *Set) Get(t Table, key string) (Digest, bool) {
	if s == nil {
		return Digest{}, false
	}
	n := s.root
	for _, b := range path(t, key) {
		if n == nil {
			return Digest{}, false
		}
		n = n.kids[b]
	}
	if n == nil {
		return Digest{}, false
	}
	i, ok := n.find(key)
	if !ok {
		return Digest{}, false
	}
	return n.rows[i].content, true
}

// Node returns the digests of the tables, one after the other. Its digest, see RootOf, is Root.
func (s *Set) Node() []byte {
	out := make([]byte, 0, NodeBytes)
	for t := range byte(branches) {
		d := s.Table(Table(t))
		out = append(out, d[:]...)
	}
	return out
}

// Table returns the digest of the rows of a table.
func (s *Set) Table(t Table) Digest {
	if s == nil || s.root == nil {
		return Digest{}
	}
	return s.root.kids[t].sum()
}

// Root returns the digest of all rows.
func (s *Set) Root() Digest {
	d, _ := RootOf(s.Node())
	return d
}

// RootOf returns the root over the digests of the tables.
func RootOf(node []byte) (d Digest, ok bool) {
	if len(node) != NodeBytes {
		return d, false
	}
	return sha256.Sum256(append([]byte{tagBranch}, node...)), true
}

// Differ returns the tables whose rows are not those of the node.
func (s *Set) Differ(node []byte) (out []Table) {
	if len(node) != NodeBytes {
		return nil
	}
	for _, t := range Tables() {
		if d := s.Table(t); string(d[:]) != string(node[int(t)*len(d):][:len(d)]) {
			out = append(out, t)
		}
	}
	return out
}

// Change is how one row of a set differs from that of another.
type Change struct {
	Table Table
	Key   string
	What  string // "missing", "added" or "changed"
}

// Diff returns how got differs from want, at most limit changes, by table and key.
func Diff(want, got *Set, limit int) (out []Change) {
	var a, b *node
	if want != nil {
		a = want.root
	}
	if got != nil {
		b = got.root
	}
	for t := range byte(tables) {
		var x, y *node
		if a != nil {
			x = a.kids[t]
		}
		if b != nil {
			y = b.kids[t]
		}
		found := diff(Table(t), x, y, nil)
		slices.SortFunc(found, func(x, y Change) int { return cmp.Compare(x.Key, y.Key) })
		out = append(out, found...)
	}
	return out[:min(len(out), limit)]
}

func diff(t Table, a, b *node, out []Change) []Change {
	if a.sum() == b.sum() {
		return out
	}
	if a != nil && a.kids != nil || b != nil && b.kids != nil {
		for i := range branches {
			var x, y *node
			if a != nil {
				x = a.kids[i]
			}
			if b != nil {
				y = b.kids[i]
			}
			out = diff(t, x, y, out)
		}
		return out
	}
	if a != nil {
		for _, r := range a.rows {
			if b == nil {
				out = append(out, Change{t, r.key, "missing"})
			} else if i, ok := b.find(r.key); !ok {
				out = append(out, Change{t, r.key, "missing"})
			} else if b.rows[i].content != r.content {
				out = append(out, Change{t, r.key, "changed"})
			}
		}
	}
	if b != nil {
		for _, r := range b.rows {
			if a == nil {
				out = append(out, Change{t, r.key, "added"})
			} else if _, ok := a.find(r.key); !ok {
				out = append(out, Change{t, r.key, "added"})
			}
		}
	}
	return out
}

// Editor makes one set of another. It is not safe for concurrent use.
type Editor struct{ root *node }

// Edit returns an editor that begins with s.
func (s *Set) Edit() *Editor {
	if s == nil {
		return &Editor{}
	}
	return &Editor{root: s.root}
}

// own returns the node, or a copy of it that e may change.
func (e *Editor) own(n *node, bucket bool) *node {
	if n != nil && n.owner == e {
		return n
	}
	c := &node{owner: e}
	switch {
	case bucket && n != nil:
		c.rows = append(make([]row, 0, len(n.rows)+1), n.rows...)
	case bucket:
	default:
		c.kids = new([branches]*node)
		if n != nil {
			*c.kids = *n.kids
		}
	}
	return c
}

// Put adds the row or replaces its content.
func (e *Editor) Put(t Table, key string, content Digest) {
	if got, ok := (&Set{e.root}).Get(t, key); ok && got == content {
		return
	}
	n := e.bucket(t, key)
	i, ok := n.find(key)
	if ok {
		n.rows[i].content = content
		return
	}
	n.rows = slices.Insert(n.rows, i, row{key, content})
}

// Delete removes the row, if there is one.
func (e *Editor) Delete(t Table, key string) {
	if _, ok := (&Set{e.root}).Get(t, key); !ok {
		return
	}
	n := e.bucket(t, key)
	i, _ := n.find(key)
	n.rows = slices.Delete(n.rows, i, i+1)
}

// Clear removes all rows of a table.
func (e *Editor) Clear(t Table) {
	if e.root != nil && e.root.kids[t] != nil {
		e.root = e.own(e.root, false)
		e.root.kids[t] = nil
	}
}

// bucket returns the bucket of the key, which e may change.
func (e *Editor) bucket(t Table, key string) *node {
	e.root = e.own(e.root, false)
	n := e.root
	way := path(t, key)
	for i, b := range way {
		n.kids[b] = e.own(n.kids[b], i == len(way)-1)
		n = n.kids[b]
	}
	return n
}

// Set returns the rows as they are now. The editor begins with them from here on.
func (e *Editor) Set() *Set {
	e.root = e.seal(e.root)
	return &Set{e.root}
}

// seal computes the hashes of what e has changed, and drops nodes without rows, so that
// the shape follows from the rows.
func (e *Editor) seal(n *node) *node {
	if n == nil || n.owner != e {
		return n
	}
	empty := len(n.rows) == 0
	if n.kids != nil {
		for i, k := range n.kids {
			n.kids[i] = e.seal(k)
			empty = empty && n.kids[i] == nil
		}
	}
	if empty {
		return nil
	}
	n.hash, n.owner = n.digest(), nil
	return n
}
