package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newKey(t testing.TB, b byte) *eventlog.Key {
	k, err := eventlog.NewKey(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// loose is a log that a test can change at will. Its tree is recomputed or kept.
type loose struct {
	leaves []kernel.LogLeaf
	tree   []tlog.Hash
	rows   kernel.Restrictions
	notes  [][]byte // checkpoints in the store
	size   int64
}

func (l *loose) LogSize(context.Context) (int64, error) { return l.size, nil }

func (l *loose) LogLeaves(_ context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	var out []kernel.LogLeaf
	for _, x := range l.leaves {
		if x.Seq > after && len(out) < limit {
			out = append(out, x)
		}
	}
	return out, nil
}

func (l *loose) LogHashes(_ context.Context, indexes []int64) ([][32]byte, error) {
	out := make([][32]byte, len(indexes))
	for i, x := range indexes {
		if x >= int64(len(l.tree)) {
			return nil, errors.New("no such hash")
		}
		out[i] = l.tree[x]
	}
	return out, nil
}

func (l *loose) AddCheckpoint(context.Context, int64, []byte) error { return nil }
func (l *loose) DropCheckpoints(context.Context, [][]byte) error    { return nil }
func (l *loose) LogRemove(context.Context, int) (int64, error)      { return 0, nil }
func (l *loose) LogCompacted(context.Context) (kernel.Compacted, error) {
	return kernel.Compacted{}, nil
}
func (l *loose) Checkpoints(context.Context) ([][]byte, error) { return l.notes, nil }

// replant makes the tree fit the leaves, as an attacker does to hide a change.
func (l *loose) replant(t testing.TB) {
	l.tree, l.size = nil, 0
	for _, x := range l.leaves {
		h, err := tlog.StoredHashes(l.size, x.Body, tlog.HashReaderFunc(func(is []int64) ([]tlog.Hash, error) {
			out := make([]tlog.Hash, len(is))
			for i, j := range is {
				out[i] = l.tree[j]
			}
			return out, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		l.tree = append(l.tree, h...)
		l.size++
	}
}

// build returns a log of n events and a checkpoint over all of them.
func build(t testing.TB, n int, k *eventlog.Key) (*loose, []byte) {
	s := memory.New()
	for i := range n {
		e := phases.Event{ID: "e" + strconv.Itoa(i), Type: phases.EventVerdict, Time: t0,
			Reason: "because " + strconv.Itoa(i%3)}
		if _, err := s.Commit(context.Background(), kernel.Batch{Now: t0, Events: []phases.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
	_, note, err := eventlog.Mark(context.Background(), s, k, t0)
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := s.LogLeaves(context.Background(), 0, n+1)
	if err != nil {
		t.Fatal(err)
	}
	l := &loose{leaves: leaves}
	l.replant(t)
	return l, note
}

func verify(t testing.TB, l kernel.Log, k *eventlog.Key, notes ...[]byte) eventlog.Report {
	r, err := eventlog.Verify(context.Background(), l, eventlog.Evidence{Verifier: k.Verifier(), Outside: notes})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every bit of every byte of every event, with and without a tree that fits.
func TestEveryFlipIsFound(t *testing.T) {
	k := newKey(t, 1)
	const n = 5
	l, note := build(t, n, k)
	if r := verify(t, l, k, note); r.Wrong != nil || r.Covered != n || r.Uncovered != 0 {
		t.Fatalf("untouched: %+v %+v", r, r.Wrong)
	}
	for i := range l.leaves {
		body := l.leaves[i].Body
		for at := range body {
			for bit := range 8 {
				body[at] ^= 1 << bit
				if r := verify(t, l, k, note); r.Wrong == nil || r.Wrong.First != int64(i+1) {
					t.Fatalf("event %d, byte %d, bit %d: %+v", i+1, at, bit, r.Wrong)
				}
				if bit == at%8 {
					l.replant(t)
					if r := verify(t, l, k, note); r.Wrong == nil || r.Wrong.First > int64(i+1) || r.Wrong.Last < int64(i+1) {
						t.Fatalf("event %d, byte %d, with the tree: %+v", i+1, at, r.Wrong)
					}
				}
				body[at] ^= 1 << bit
				if bit == at%8 {
					l.replant(t)
				}
			}
		}
	}
	for i := range l.tree {
		l.tree[i][i%32] ^= 1
		if r := verify(t, l, k, note); r.Wrong == nil {
			t.Errorf("stored hash %d changed: not found", i)
		}
		l.tree[i][i%32] ^= 1
	}
}

// Deleting, moving, doubling and cutting is found, also with a replanted tree.
func TestChangesAreFound(t *testing.T) {
	k := newKey(t, 1)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "events")
		l, note := build(t, n, k)
		i, j := rapid.IntRange(0, n-1).Draw(rt, "i"), rapid.IntRange(0, n-1).Draw(rt, "j")
		cover := rapid.Bool().Draw(rt, "cover")
		first := i
		switch rapid.IntRange(0, 3).Draw(rt, "change") {
		case 0:
			l.leaves = slices.Delete(l.leaves, i, i+1)
		case 1:
			l.leaves = l.leaves[:i]
		case 2:
			if i == j {
				return
			}
			l.leaves[i].Body, l.leaves[j].Body = l.leaves[j].Body, l.leaves[i].Body
			first = min(i, j)
		case 3:
			extra := l.leaves[i]
			extra.Seq = int64(n + 1)
			l.leaves, first = append(l.leaves, extra), n
		}
		if cover {
			for x := range l.leaves {
				l.leaves[x].Seq = int64(x + 1)
			}
			l.replant(t)
		}
		r := verify(t, l, k, note)
		if r.Wrong == nil || r.Wrong.First > int64(first+1) || r.Wrong.Last < int64(first+1) {
			rt.Fatalf("event %d of %d: %+v", first+1, n, r.Wrong)
		}
	})
}

func TestUncoveredTailIsCounted(t *testing.T) {
	k := newKey(t, 1)
	_, note := build(t, 7, k)
	l, _ := build(t, 10, k)
	if r := verify(t, l, k, note); r.Wrong != nil || r.Covered != 7 || r.Uncovered != 3 || r.Outside != 1 {
		t.Errorf("%+v, %+v", r, r.Wrong)
	}
	l.leaves = l.leaves[:8]
	l.replant(t)
	if r := verify(t, l, k, note); r.Wrong != nil || r.Uncovered != 1 {
		t.Errorf("what no checkpoint covers is not claimed: %+v", r)
	}
}

func TestCheckpointsOfOthers(t *testing.T) {
	k, other := newKey(t, 1), newKey(t, 2)
	l, note := build(t, 4, k)
	_, forged := build(t, 4, other)
	if r := verify(t, l, k, note, forged); r.Wrong == nil {
		t.Error("a checkpoint of another key counted")
	}
	for at := range note {
		bad := bytes.Clone(note)
		bad[at] ^= 1
		if _, err := eventlog.Open(bad, k.Verifier()); !errors.Is(err, eventlog.ErrCheckpoint) {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
	if got := eventlog.Split([]byte("\n" + string(note) + "\n" + string(forged) + "\n")); len(got) != 2 ||
		!bytes.Equal(got[0], note) || !bytes.Equal(got[1], forged) {
		t.Errorf("Split: %q", got)
	}
}

func TestProofs(t *testing.T) {
	k := newKey(t, 1)
	for n := 1; n < 12; n++ {
		l, _ := build(t, n, k)
		for seq := 1; seq <= n; seq++ {
			p, err := eventlog.Prove(context.Background(), l, k, int64(seq), t0)
			if err != nil {
				t.Fatal(err)
			}
			event, c, err := p.Check(k.Verifier())
			if err != nil || c.Size != int64(n) || !strings.Contains(string(event), `"seq":`+strconv.Itoa(seq)) {
				t.Fatalf("%d of %d: %s %v", seq, n, event, err)
			}
			if _, _, err := p.Check(newKey(t, 2).Verifier()); !errors.Is(err, eventlog.ErrProof) {
				t.Errorf("another key: %v", err)
			}
			p.Event = bytes.Replace(p.Event, []byte("because"), []byte("becausf"), 1)
			if _, _, err := p.Check(k.Verifier()); !errors.Is(err, eventlog.ErrProof) {
				t.Errorf("another event: %v", err)
			}
		}
		if _, err := eventlog.Prove(context.Background(), l, k, int64(n+1), t0); !errors.Is(err, eventlog.ErrProof) {
			t.Errorf("no such event: %v", err)
		}
	}
}

// Restrictions answers l.rows or, where that is empty, rows that are as the newest event says.
func (l *loose) Restrictions(context.Context) (kernel.Restrictions, error) {
	if l.rows.Seq != 0 || len(l.leaves) == 0 {
		return l.rows, nil
	}
	newest := l.leaves[len(l.leaves)-1]
	var e phases.Event
	if err := json.Unmarshal(newest.Body, &e); err != nil {
		return kernel.Restrictions{}, err
	}
	return kernel.Restrictions{Seq: newest.Seq, Recorded: e.Restrictions, Found: e.Restrictions}, nil
}
