package lookup

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What stands in a block stands in its drawers, and nowhere else.
func TestDrawers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	b := NewBlock(3)
	terms := []int64{0, -1, math.MinInt64, math.MaxInt64, 1 << 58, 1<<58 - 1}
	for range 2000 {
		terms = append(terms, int64(random.Uint64()))
	}
	for i, term := range terms {
		p := new(Places)
		for range i % 200 {
			p.Add(random.IntN(BlockEvents))
		}
		if p.Add(i % BlockEvents); i == 5 {
			*p, _ = ParsePlaces(nil) // all
		}
		b.Terms[term] = p
	}
	again := NewBlock(3)
	drawers := b.Drawers()
	for n, d := range drawers {
		again.LoadDrawer(n, d)
	}
	if diff := cmp.Diff(b, again, cmpopts.IgnoreUnexported(Block{})); diff != "" {
		t.Errorf("(-put in +taken out):\n%s", diff)
	}
	misplaced := NewBlock(3)
	for n, d := range drawers {
		misplaced.LoadDrawer((n+1)%Drawers, d)
	}
	if len(misplaced.Terms) > 0 {
		t.Errorf("%d terms are said to be in a drawer that is not theirs", len(misplaced.Terms))
	}
	for _, term := range terms {
		if InDrawer(term, drawers[DrawerOf(term)]) != *b.Terms[term] {
			t.Fatalf("term %d stands elsewhere", term)
		}
		if none := InDrawer(term+1, drawers[DrawerOf(term+1)]); b.Terms[term+1] == nil && none != (Places{}) {
			t.Fatalf("a term that is not there stands at %v", none)
		}
	}
}

// Bytes from a database are never trusted to be a drawer: what is none says nothing, and does no harm.
func FuzzDrawer(f *testing.F) {
	b := NewBlock(0)
	for _, term := range []int64{5, 6, 7} {
		b.Terms[term] = new(Places)
		b.Terms[term].Add(int(term))
	}
	good := b.Drawers()[0]
	f.Add(0, good)
	f.Add(0, good[:len(good)-1])
	f.Add(1, good)
	f.Add(0, append(good, good...))
	f.Fuzz(func(t *testing.T, drawer int, stored []byte) {
		drawer &= Drawers - 1
		b := NewBlock(0)
		b.LoadDrawer(drawer, stored)
		for term, p := range b.Terms {
			if DrawerOf(term) != drawer || InDrawer(term, stored) != *p {
				t.Errorf("term %d of drawer %d: %v, and %v by itself", term, drawer, p, InDrawer(term, stored))
			}
		}
		for _, term := range []int64{5, 6, 7} {
			if p := InDrawer(term, stored); drawer == 0 && p != (Places{}) && b.Terms[term] == nil {
				t.Errorf("term %d stands at %v in a drawer that says nothing of it", term, p)
			}
		}
	})
}
