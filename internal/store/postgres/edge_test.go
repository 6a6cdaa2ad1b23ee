package postgres

import (
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// The edge grows the tree that package tlog defines, row by row, also from what a database holds of it.
func TestEdgeGrowsTheTree(t *testing.T) {
	var want []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = want[x]
		}
		return out, nil
	})
	e, err := newEdge(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var rows []byte
	for n := range int64(200) {
		body := fmt.Append(nil, "event ", n)
		hashes, err := tlog.StoredHashes(n, body, read)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, hashes...)
		at := e.fullRows()
		e.add(body)
		if int(at) != len(rows)/rowBytes {
			t.Fatalf("event %d: the next row is %d, want %d", n, at, len(rows)/rowBytes)
		}
		for _, r := range e.full {
			rows = append(rows, r...)
		}
		e.full = nil
		got := append(append([]byte{}, rows...), e.tail...)
		for i, h := range want {
			if tlog.Hash(got[i*tlog.HashSize:][:tlog.HashSize]) != h {
				t.Fatalf("event %d: hash %d differs", n, i)
			}
		}
		again, err := newEdge(e.size, e.tail)
		if err != nil {
			t.Fatal(err)
		}
		for level, x := range again.lacks() {
			again.roots[level] = want[x]
		}
		e = again
	}
	for _, tail := range [][]byte{e.tail[1:], e.tail[tlog.HashSize:], append(e.tail, make([]byte, rowBytes)...)} {
		if _, err := newEdge(e.size, tail); err == nil {
			t.Errorf("a last row of %d bytes is taken for that of %d events", len(tail), e.size)
		}
	}
}

// Two logs of one size are told apart where the last row of their trees is empty, too.
func TestEdgesOfOtherTreesAreNotTheSame(t *testing.T) {
	empty := 0
	a, err := newEdge(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := a.clone()
	for n := range 100 {
		a.add(fmt.Append(nil, "a", n))
		b.add(fmt.Append(nil, "b", n))
		if len(a.tail) == 0 {
			empty++
		}
		if a.same(b) || !a.same(a.clone()) {
			t.Errorf("%d events: a is b: %v, a is a: %v", n+1, a.same(b), a.same(a.clone()))
		}
	}
	if empty == 0 {
		t.Error("no last row was empty")
	}
}
