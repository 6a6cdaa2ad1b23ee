package highwater

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

func saw(n, version int64) Head {
	h := head(n)
	h.Seen = Seen{Version: version, Kernel: 2, Seq: version + 10, Hash: [32]byte{byte(version), 7}}
	return h
}

// What was seen of other kernels is stored beside the head of the log, and never goes back either.
func TestWhatWasSeenIsStored(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	narrow := read(t, g)
	for _, step := range []struct {
		h, want Head
		uses    []Use
	}{
		{h: saw(2, 5), want: saw(2, 5)},
		{h: saw(3, 4), want: saw(3, 5)},
		{h: saw(3, 6), want: saw(3, 6)},
		{h: saw(3, 7), want: saw(3, 7), uses: []Use{{ID: Approval + "a", Until: t0.Unix()}}},
		{h: head(4), want: saw(4, 7), uses: []Use{{ID: Approval + "b", Until: t0.Unix()}}},
	} {
		want := head(step.want.Size)
		want.Seen = step.want.Seen
		err := error(nil)
		if step.uses == nil {
			err = g.Advance(0, step.h)
		} else {
			err = g.Intend(0, step.h, step.uses, t0)
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, of := range map[string]*Guard{"same": g, "another": New(g.o)} {
			if st := look(t, of); st.Head != want {
				t.Errorf("%s: %+v, want %+v", name, st.Head, want)
			}
		}
	}
	b := read(t, g)
	if !bytes.HasPrefix(narrow, []byte(header)) || !bytes.HasPrefix(b, []byte(wideMark)) {
		t.Error("a mark gets a place for it when there is something to put there, and not before")
	}
	// A torn head leaves what the last record says, and a record may not go back.
	b[len(wideMark)+90] ^= 1
	if st, err := Decode(b); err != nil || st.Head != saw(4, 7) {
		t.Errorf("%+v, %v", st, err)
	}
	back := saw(4, 6).record(0)
	text, err := line(store, &back)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(append(b, text...)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record that goes back: %v", err)
	}
	if _, err := Decode(append(narrow, text...)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record that has no place: %v", err)
	}
}

func TestWideSlotsHaveChecksums(t *testing.T) {
	whole := slot(store, 3, saw(7, 9), true)
	if h, ok := readSlot(store, 3, whole, true); !ok || h != saw(7, 9) {
		t.Fatalf("%+v, %v", h, ok)
	}
	for at := range whole {
		b := bytes.Clone(whole)
		b[at] ^= 1
		if h, ok := readSlot(store, 3, b, true); ok {
			t.Errorf("byte %d changed: %+v counts", at, h)
		}
	}
}

// After a recovery the mark says what was decided, also of other kernels.
func TestARecoveryForgetsWhatWasSeen(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	if err := g.Advance(0, saw(9, 9)); err != nil {
		t.Fatal(err)
	}
	if err := g.Reset(&State{Store: store, Epoch: 1, Head: saw(3, 2)}); err != nil {
		t.Fatal(err)
	}
	if st := look(t, g); st.Head != saw(3, 2) {
		t.Errorf("%+v", st.Head)
	}
	if err := g.Advance(1, saw(3, 3)); err != nil || look(t, g).Head != saw(3, 3) {
		t.Errorf("%+v, %v", look(t, g).Head, err)
	}
}

func read(t *testing.T, g *Guard) []byte {
	t.Helper()
	b, err := os.ReadFile(g.Path())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
