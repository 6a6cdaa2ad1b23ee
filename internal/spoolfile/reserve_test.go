package spoolfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/spoolfile"
	"github.com/belay-hooks/belay/phases"
)

func noteNumber(n int) spoolfile.Note {
	return spoolfile.Of(phases.Invocation{ID: fmt.Sprint(n), Runtime: "custom", Session: "s"}, phases.NewFault(phases.KindStore, "full", nil), true, time.Now())
}

// held counts what a process that comes next finds, and what of it are notes.
func held(path string) (all, notes int) {
	list, dropped := spoolfile.Read(path)
	r := spoolfile.ReadReserve(path)
	return len(list) + dropped + len(r.Notes) + r.Dropped, len(list) + len(r.Notes)
}

// When the file takes no more, notes go to the reserve, and those that do not fit are
// counted there: however many, none is lost.
func TestTheReserveLosesNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), spoolfile.Name)
	if err := spoolfile.Reserve(path); err != nil {
		t.Fatal(err)
	}
	const blocked = 4000
	for n := range blocked {
		if err := spoolfile.Append(path, noteNumber(n)); err != nil {
			t.Fatalf("note %d: %v", n, err)
		}
	}
	all, notes := held(path)
	if all != blocked || notes < 2000 || notes == blocked {
		t.Errorf("%d of %d, %d with a note", all, blocked, notes)
	}
	if fi, err := os.Stat(filepath.Join(filepath.Dir(path), spoolfile.ReserveName)); err != nil || fi.Size() != spoolfile.ReserveBytes {
		t.Errorf("the reserve: %v %v", fi, err)
	}
}

// What is cleared is what was read: what came meanwhile stays, and the space is used again.
func TestTheReserveIsClearedAsItWasRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), spoolfile.Name)
	if err := os.Mkdir(path, 0o700); err != nil { // no file can be there
		t.Fatal(err)
	}
	if err := spoolfile.Append(path, noteNumber(0)); err == nil {
		t.Fatal("a note without a place for it")
	}
	if err := spoolfile.Reserve(path); err != nil {
		t.Fatal(err)
	}
	if spoolfile.InReserve(path) {
		t.Error("it holds something")
	}
	for round := range 3 {
		for n := range 5 {
			if err := spoolfile.Append(path, noteNumber(10*round+n)); err != nil {
				t.Fatal(err)
			}
		}
		r := spoolfile.ReadReserve(path)
		if !spoolfile.InReserve(path) || len(r.Notes) != 5 || r.Notes[4].Invocation != fmt.Sprint(10*round+4) {
			t.Fatalf("round %d: %+v", round, r)
		}
		if err := spoolfile.Append(path, noteNumber(99)); err != nil {
			t.Fatal(err)
		}
		if err := r.Clear(path); err != nil {
			t.Fatal(err)
		}
		r = spoolfile.ReadReserve(path)
		if len(r.Notes) != 1 || r.Notes[0].Invocation != "99" {
			t.Fatalf("round %d: what came meanwhile: %+v", round, r)
		}
		if err := r.Clear(path); err != nil || spoolfile.InReserve(path) {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}
