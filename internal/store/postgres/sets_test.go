package postgres

import (
	"testing"

	"github.com/belay-hooks/belay/internal/restrict"
)

// What one kernel writes of its changes another one applies; what is cut off or odd is refused.
func TestDeltas(t *testing.T) {
	list := []delta{
		{place: place{restrict.Leases, restrict.Key("a")}, digest: restrict.Digest{1}},
		{place: place{restrict.Runs, restrict.Key("r", "s", "")}, digest: restrict.Digest{2}},
		{place: place{restrict.Leases, restrict.Key("gone")}, gone: true},
	}
	before := (&restrict.Set{}).Edit()
	before.Put(restrict.Leases, restrict.Key("gone"), restrict.Digest{3})
	start := before.Set()
	want := start.Edit()
	for i := range list {
		list[i].apply(want)
	}
	b := encodeDeltas(list)
	got, err := applyDeltas(start, b)
	if err != nil || got.Root() != want.Set().Root() {
		t.Fatalf("another set: %v", err)
	}
	whole := 0
	for n := range b {
		if _, err := applyDeltas(start, b[:n]); err == nil {
			whole++ // cut between two rows
		}
	}
	if whole != len(list) {
		t.Errorf("%d beginnings were taken, want %d", whole, len(list))
	}
	for _, odd := range [][]byte{{99, 1, 0}, {0, 2, 0}, {0, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}} {
		if _, err := applyDeltas(start, odd); err == nil {
			t.Errorf("%v was taken", odd)
		}
	}
}

// Only the last versions are remembered, and an older one never takes the place of a newer one.
func TestSetsRemember(t *testing.T) {
	var s sets
	if _, _, ok := s.last(); ok {
		t.Error("an empty memory remembers")
	}
	size := int64(len(s.ring))
	for v := range size + 5 {
		s.put(v, &restrict.Set{})
	}
	s.put(3, &restrict.Set{})
	for v, want := range map[int64]bool{3: false, 4: false, 5: true, size + 4: true, size + 5: false} {
		if _, ok := s.at(v); ok != want {
			t.Errorf("version %d is remembered: %v", v, ok)
		}
	}
	if v, _, ok := s.last(); !ok || v != size+4 {
		t.Errorf("the last is %d, %v", v, ok)
	}
	if s.forget(); s.newest != 0 {
		t.Error("it has not forgotten")
	}
}
