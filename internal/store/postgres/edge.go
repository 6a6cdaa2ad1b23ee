package postgres

import (
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
)

// The tree is stored as package tlog numbers its hashes, rowHashes of them in a row. Full rows are in the table
// tiles and are never written again; the last row, which is not full, is in the kernel's row.
const (
	rowHashes = 32
	rowBytes  = rowHashes * tlog.HashSize
	maxLevels = 64
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", kernel.ErrDamaged, fmt.Sprintf(format, args...))
}

// edge is the right edge of a tree: all that growing it needs.
type edge struct {
	size  int64
	tail  []byte               // the last row, less than rowBytes
	roots [maxLevels]tlog.Hash // of the perfect subtrees that still grow, by level: where size has a bit
	full  [][]byte             // rows that were filled and are not written yet
	leaf  tlog.Hash            // of the newest event, if it was added here
}

// newEdge checks what the database says of the size of a tree.
func newEdge(size int64, tail []byte) (*edge, error) {
	if size < 0 || len(tail)%tlog.HashSize != 0 || len(tail) >= rowBytes ||
		tlog.StoredHashCount(size)%rowHashes != int64(len(tail)/tlog.HashSize) {
		return nil, damaged("no tree of %d leaves has a last row of %d bytes", size, len(tail))
	}
	return &edge{size: size, tail: slices.Clone(tail)}, nil
}

// lacks returns the indexes of the hashes that growing needs, by level.
func (e *edge) lacks() map[int]int64 {
	out := map[int]int64{}
	for level := range bits.Len64(uint64(e.size)) {
		if e.size>>level&1 == 1 {
			out[level] = tlog.StoredHashIndex(level, e.size>>level-1)
		}
	}
	return out
}

// fullRows is how many rows of the tree are full and written.
func (e *edge) fullRows() int64 { return tlog.StoredHashCount(e.size)/rowHashes - int64(len(e.full)) }

// clone returns a copy that grows apart.
func (e *edge) clone() *edge {
	return &edge{size: e.size, tail: slices.Clone(e.tail), roots: e.roots}
}

// add makes body the next leaf.
func (e *edge) add(body []byte) {
	hash := tlog.RecordHash(body)
	e.leaf = hash
	e.put(hash)
	level := 0
	for ; e.size>>level&1 == 1; level++ { // the leaf completes a tree of the next level
		hash = tlog.NodeHash(e.roots[level], hash)
		e.put(hash)
	}
	e.roots[level] = hash
	e.size++
}

func (e *edge) put(h tlog.Hash) {
	if e.tail = append(e.tail, h[:]...); len(e.tail) == rowBytes {
		e.full = append(e.full, e.tail)
		e.tail = make([]byte, 0, rowBytes)
	}
}

// same reports whether two edges are of the same tree. The last row alone does not tell: it is empty where the rows
// before it are just full.
func (e *edge) same(other *edge) bool {
	return e.size == other.size && slices.Equal(e.tail, other.tail) && e.root() == other.root()
}

// root returns the root hash of the tree.
func (e *edge) root() (out tlog.Hash) {
	if e.size == 0 {
		out, _ = tlog.TreeHash(0, nil) // reads nothing
		return out
	}
	begun := false
	for level := range bits.Len64(uint64(e.size)) {
		switch h := e.roots[level]; {
		case e.size>>level&1 == 0:
		case !begun:
			out, begun = h, true
		default:
			out = tlog.NodeHash(h, out)
		}
	}
	return out
}
