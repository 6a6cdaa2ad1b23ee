package wasm_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// shuffled is a file that shuffles two vectors of 16 lanes each: lane 31 in each place, and lane 32 in the given one.
func shuffled(place int) []byte {
	vector := append([]byte{0xfd, 12}, make([]byte, 16)...)
	lanes := bytes.Repeat([]byte{31}, 16)
	if place >= 0 {
		lanes[place] = 32
	}
	return inBody(slices.Concat(vector, vector, []byte{0xfd, 13}, lanes, []byte{0x1a})...)
}

// TestLanesOfShuffles: a shuffle takes lanes of its two vectors, in each place.
func TestLanesOfShuffles(t *testing.T) {
	if _, err := wasm.Parse(shuffled(-1), wasm.RelaxedLimits()); err != nil {
		t.Errorf("the last lane in each place: %v", err)
	}
	for place := range 16 {
		if _, err := wasm.Parse(shuffled(place), wasm.RelaxedLimits()); !errors.Is(err, wasm.ErrInvalid) ||
			!strings.Contains(err.Error(), "lane") {
			t.Errorf("one lane more in place %d: %v", place, err)
		}
	}
}

// TestPaddedTypeOfABlock: a block's type may be a number that is longer than it has to be.
func TestPaddedTypeOfABlock(t *testing.T) {
	if _, err := wasm.Parse(inBody(0x02, 0x80, 0x00, 0x0b), wasm.RelaxedLimits()); err != nil {
		t.Error(err)
	}
}

// TestPlacesInDeclarations: the offset of an error is that of the byte that is wrong.
func TestPlacesInDeclarations(t *testing.T) {
	b := file(section(6, 1, 0x7f, 2, 0x41, 0, 0x0b))
	_, err := wasm.Parse(b, wasm.RelaxedLimits())
	var e *wasm.Error
	if !errors.As(err, &e) || !strings.Contains(e.Error(), "mutability 0x02") || e.Offset != bytes.IndexByte(b, 0x7f)+1 {
		t.Errorf("%v: %#v", err, e)
	}
}

// TestLocalsAreCounted: with its parameters a function has fewer locals than an index can name, else it is malformed.
func TestLocalsAreCounted(t *testing.T) {
	body := []byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7f, 0x0b}
	for params, class := range map[byte]error{0: wasm.ErrLimit, 1: wasm.ErrMalformed} {
		types := append([]byte{1, 0x60, params}, bytes.Repeat([]byte{0x7f}, int(params))...)
		code := append([]byte{1, byte(len(body))}, body...)
		_, err := wasm.Parse(file(section(1, append(types, 0)...), section(3, 1, 0), section(10, code...)),
			wasm.RelaxedLimits())
		if !errors.Is(err, class) || !strings.Contains(err.Error(), "too many locals") {
			t.Errorf("%d parameters: %v, want %v", params, err, class)
		}
	}
}

// TestFindExport: an export is found by its name only.
func TestFindExport(t *testing.T) {
	m := &wasm.Module{Exports: []wasm.Export{{Name: "a", Index: 1}, {Name: "b", Index: 2}}}
	for name, want := range map[string]uint32{"a": 1, "b": 2, "c": 0, "": 0} {
		if e, ok := m.FindExport(name); ok != (want > 0) || e.Index != want {
			t.Errorf("%q: %+v, %v", name, e, ok)
		}
	}
}

// TestDeadEndsLeadNowhere: the first side of an if joins the second one behind it only where its end is reached.
func TestDeadEndsLeadNowhere(t *testing.T) {
	for name, c := range map[string]struct {
		first wasm.Op
		edges uint64
	}{"both sides end": {wasm.OpNop, 2}, "the first does not": {wasm.OpUnreachable, 0}} {
		b := (&body{}).i32(1).block(wasm.OpIf, wasm.BlockEmpty).op(c.first, wasm.OpElse, wasm.OpNop, wasm.OpEnd)
		m, err := wasm.Parse(mustEncode(t, one(0, b.end())), bombLimits())
		if err != nil {
			t.Fatal(err)
		}
		if j := m.Funcs[0].Facts.Joins; j.Edges != c.edges {
			t.Errorf("%s: %+v, want %d edges", name, j, c.edges)
		}
	}
}
