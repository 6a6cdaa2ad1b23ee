//go:build unix

package sandbox

import (
	"bytes"
	"testing"
)

// A memory that is used again is as a new one: zero as far as it was written and beyond, also where it grows anew.
func TestKeptMemoryIsZero(t *testing.T) {
	kept := &keptMemory{}
	a := &allocator{limit: 1 << 20, kept: kept}
	fill := func(m *linearMemory, size uint64) []byte {
		b := m.Reallocate(size)
		for i := range b {
			b[i] = 0xa5
		}
		return b
	}
	m := a.Allocate(0, 1<<20).(*linearMemory)
	fill(m, pageSize)
	first := fill(m, 3*pageSize)
	m.keep = kept
	m.Free()
	m.Free() // wazero and the host both do

	m = a.Allocate(0, 1<<20).(*linearMemory)
	b := m.Reallocate(pageSize)
	if &b[0] != &first[0] {
		t.Fatal("the memory is not used again")
	}
	if len(b) != pageSize || cap(b) != pageSize {
		t.Errorf("it begins with %d bytes, room for %d", len(b), cap(b))
	}
	if b = m.Reallocate(5 * pageSize); len(bytes.Trim(b, "\x00")) != 0 {
		t.Error("something of the last use is left")
	}
	fill(m, 5*pageSize)
	if m.peak != 5*pageSize {
		t.Errorf("a peak of %d", m.peak)
	}
	m.Free() // not to be kept: a call of the host may still look into it
	if len(kept.regions) != 0 {
		t.Errorf("%d kept", len(kept.regions))
	}
}

// What is kept is bounded, and is given back in the end.
func TestKeptMemoryIsBounded(t *testing.T) {
	kept := &keptMemory{}
	give := func(size uint64) {
		m := (&allocator{limit: 1 << 20}).Allocate(0, 1<<20).(*linearMemory)
		m.Reallocate(size)
		m.keep = kept
		m.Free()
	}
	give(keptBytes + pageSize)
	if len(kept.regions) != 0 {
		t.Error("a large memory is kept")
	}
	for range keptRegions + 2 {
		give(keptBytes)
	}
	if len(kept.regions) != keptRegions {
		t.Errorf("%d are kept", len(kept.regions))
	}
	kept.close()
	give(pageSize)
	if len(kept.regions) != 0 {
		t.Error("one is kept for runs that will not be")
	}
}

// The memory of a run that ended by itself is used again; that of one that the host ended is not.
func TestForcedEndsKeepNoMemory(t *testing.T) {
	e := open(t, Options{})
	for name, want := range map[string]int{"guard": 1, "traps": 0} {
		m := load(t, e, guest(t, name))
		kept := &freshOf(m).kept
		run(t, m, RunRequest{Phase: m.Info().Phases[0]}, lsAction)
		if len(kept.regions) != want {
			t.Errorf("%s: %d memories are kept, not %d", name, len(kept.regions), want)
		}
	}
}
