package notes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

func noteNumber(n int) notes.Note {
	return notes.Of(phases.Invocation{ID: fmt.Sprint(n), Runtime: "custom", Session: "s"},
		phases.NewFault(phases.KindStore, "full", nil), true, time.Now())
}

// held counts what a process that comes next finds, and what of it are notes.
func held(path string) (all, left int) {
	list, dropped := notes.Read(path)
	r := notes.ReadReserve(path)
	return len(list) + dropped + len(r.Notes) + r.Dropped, len(list) + len(r.Notes)
}

// When the file takes no more, notes go to the reserve, and those that do not fit are
// counted there: however many, none is lost.
func TestTheReserveLosesNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.SpoolName)
	if err := notes.Reserve(path); err != nil {
		t.Fatal(err)
	}
	const blocked = 4000
	for n := range blocked {
		if err := notes.Append(path, noteNumber(n)); err != nil {
			t.Fatalf("note %d: %v", n, err)
		}
	}
	all, left := held(path)
	if all != blocked || left < 2000 || left == blocked {
		t.Errorf("%d of %d, %d with a note", all, blocked, left)
	}
	if fi, err := os.Stat(filepath.Join(filepath.Dir(path), notes.ReserveName)); err != nil ||
		fi.Size() != notes.ReserveBytes {
		t.Errorf("the reserve: %v %v", fi, err)
	}
}

// Clearing removes only the notes that were read: later ones stay, and the
// space is used again.
func TestTheReserveIsClearedAsItWasRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.SpoolName)
	if err := os.Mkdir(path, 0o700); err != nil { // no file can be there
		t.Fatal(err)
	}
	if err := notes.Append(path, noteNumber(0)); err == nil {
		t.Fatal("a note without a place for it")
	}
	if err := notes.Reserve(path); err != nil {
		t.Fatal(err)
	}
	if notes.InReserve(path) {
		t.Error("it holds something")
	}
	for round := range 3 {
		for n := range 5 {
			if err := notes.Append(path, noteNumber(10*round+n)); err != nil {
				t.Fatal(err)
			}
		}
		r := notes.ReadReserve(path)
		if !notes.InReserve(path) || len(r.Notes) != 5 || r.Notes[4].Invocation != fmt.Sprint(10*round+4) {
			t.Fatalf("round %d: %+v", round, r)
		}
		if err := notes.Append(path, noteNumber(99)); err != nil {
			t.Fatal(err)
		}
		if err := r.Clear(path); err != nil {
			t.Fatal(err)
		}
		r = notes.ReadReserve(path)
		if len(r.Notes) != 1 || r.Notes[0].Invocation != "99" {
			t.Fatalf("round %d: what came meanwhile: %+v", round, r)
		}
		if err := r.Clear(path); err != nil || notes.InReserve(path) {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// Notes that latch nothing leave half of the reserve to those that do; where these find no
// space, there is one note for each runtime, and each of the others is counted.
func TestTheReserveHoldsRuntimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.SpoolName)
	if err := notes.Reserve(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // no file can be there
		t.Fatal(err)
	}
	add := func(n notes.Note, times int) (kept, dropped int) {
		t.Helper()
		before := notes.ReadReserve(path)
		for range times {
			if err := notes.Append(path, n); err != nil {
				t.Fatal(err)
			}
		}
		after := notes.ReadReserve(path)
		return len(after.Notes) - len(before.Notes), after.Dropped - before.Dropped
	}
	plain, latching, ends := noteNumber(1), noteNumber(2), noteNumber(3)
	plain.Unblockable, ends.Ends, latching.Reason = false, phases.EndsWithCause, "a longer line than those that fit"
	kept, dropped := add(plain, 1500)
	if kept < 500 || kept+dropped != 1500 || dropped == 0 {
		t.Errorf("of notes that latch nothing: %d kept, %d counted", kept, dropped)
	}
	if kept, dropped := add(ends, 400); kept != 400 || dropped != 0 {
		t.Errorf("of notes that latch: %d kept, %d counted", kept, dropped)
	}
	add(ends, 1000)
	if kept, dropped := add(ends, 10); kept != 0 || dropped != 10 {
		t.Errorf("of those that end with their cause: %d kept, %d counted", kept, dropped)
	}
	for round, runtime := range []string{"custom", "custom", "other"} {
		latching.Runtime = runtime
		want := 1
		if round == 1 {
			want = 0 // there is one
		}
		if kept, dropped := add(latching, 5); kept != want || dropped != 5-want {
			t.Errorf("round %d, of %s: %d kept, %d counted", round, runtime, kept, dropped)
		}
	}
	var whole []string
	for _, n := range notes.ReadReserve(path).Notes {
		if n.Whole {
			whole = append(whole, n.Runtime)
			if n.Session != "" || !n.Unblockable || n.Kind != phases.KindStore || n.Time.IsZero() || n.Invocation != "2" {
				t.Errorf("%+v", n)
			}
		}
	}
	if fmt.Sprint(whole) != "[custom other]" {
		t.Errorf("held: %q", whole)
	}
	var err error
	for n := 0; err == nil && n < 1000; n++ { // as many runtimes as there is space for
		latching.Runtime = fmt.Sprint("r-", n)
		err = notes.Append(path, latching)
	}
	if err == nil {
		t.Error("a runtime that could not be held is no error")
	}
}

// A watch sees what other processes note, also in a file that took the place of the one that it has open.
func TestAWatchSeesEachNote(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.SpoolName)
	w := notes.NewReserveWatch(path)
	defer w.Close()
	if w.Holds() {
		t.Error("a reserve that is not there")
	}
	for _, replaced := range []bool{false, true} {
		if replaced {
			reserve := strings.TrimSuffix(path, ".jsonl") + ".reserve"
			if err := os.Rename(reserve, reserve+".old"); err != nil {
				t.Fatal(err)
			}
			if w.Holds() {
				t.Error("a reserve that is gone")
			}
		}
		if err := notes.Reserve(path); err != nil {
			t.Fatal(err)
		}
		if w.Holds() {
			t.Error("an empty reserve")
		}
		if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) { // no note goes there
			t.Fatal(err)
		}
		if err := notes.Append(path, noteNumber(1)); err != nil {
			t.Fatal(err)
		}
		if !w.Holds() || !notes.InReserve(path) {
			t.Error("a note is not seen")
		}
		if err := notes.ReadReserve(path).Clear(path); err != nil {
			t.Fatal(err)
		}
		if w.Holds() {
			t.Error("a cleared reserve")
		}
	}
}
