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
