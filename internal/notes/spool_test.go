package notes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

func TestNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.SpoolName)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	long := strings.Repeat("s", 10_000)
	want := []notes.Note{
		{Time: at.UTC(), Runtime: "custom", Session: "s-1", Kind: phases.KindLoad, Reason: "why", Unblockable: true},
		{Time: at.UTC(), Kind: phases.KindProtocol, Reason: "said by a hook"},
		{Time: at.UTC(), Kind: phases.KindProtocol, Reason: "the action could not be decided"},
		{Time: at.UTC(), Session: phases.SafeLine(long, phases.MaxIDBytes), Kind: phases.KindStore,
			Reason: phases.SafeText(long, phases.MaxReasonBytes)},
	}
	for _, n := range []notes.Note{
		notes.Of(phases.Invocation{Runtime: "custom", Session: "s-1", Action: []byte(`{"never":"kept"}`)},
			phases.NewFault(phases.KindLoad, "why", errors.New("never kept")), true, at),
		notes.Of(phases.Invocation{}, phases.NewFault(phases.KindPolicy, "said by a hook", nil), false, at),
		notes.Of(phases.Invocation{}, nil, false, at),
		notes.Of(phases.Invocation{Session: long}, phases.NewFault(phases.KindStore, long, nil), false, at),
	} {
		if err := notes.Append(path, n); err != nil {
			t.Fatal(err)
		}
	}
	got, dropped := notes.Read(path)
	if diff := cmp.Diff(want, got); diff != "" || dropped != 0 {
		t.Errorf("%d dropped (-want +got)\n%s", dropped, diff)
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(b), "never") {
		t.Errorf("%v: %s", err, b)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if err := os.Truncate(path, notes.MaxSpool+1); err != nil {
		t.Fatal(err)
	}
	if err := notes.Append(path, want[0]); !errors.Is(err, notes.ErrFull) {
		t.Errorf("beyond its size: %v", err)
	}
}

// Processes add notes while another takes the file away to report them: each note that
// was added is read once.
func TestNotesAreNotLostToTheOneWhoTakes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, notes.SpoolName)
	const writers, each = 4, 50
	var adding, taking sync.WaitGroup
	for w := range writers {
		adding.Go(func() {
			for i := range each {
				n := notes.Of(phases.Invocation{ID: fmt.Sprintf("%d-%d", w, i)}, nil, false, time.Now())
				if err := notes.Append(path, n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	seen := map[string]int{}
	take := func(i int) {
		claim := fmt.Sprintf("%s.%d", path, i)
		if err := notes.Take(path, claim); err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			return
		}
		left, dropped := notes.Read(claim)
		if dropped > 0 {
			t.Errorf("%d notes cannot be read", dropped)
		}
		for _, n := range left {
			seen[n.Invocation]++
		}
		if err := os.Remove(claim); err != nil {
			t.Error(err)
		}
	}
	taking.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				take(i)
				return
			default:
				take(i)
			}
		}
	})
	adding.Wait()
	close(stop)
	taking.Wait()
	for w := range writers {
		for i := range each {
			if id := fmt.Sprintf("%d-%d", w, i); seen[id] != 1 {
				t.Errorf("the note %s was read %d times", id, seen[id])
			}
		}
	}
}

// A file is not taken away under a process that is about to write to it, and what
// waits for the one who takes it goes to a new file.
func TestTakeWaitsForWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.SpoolName)
	claim := path + ".1"
	n := notes.Of(phases.Invocation{ID: "first"}, nil, false, time.Now())
	if err := notes.Append(path, n); err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := statedir.OpenLocked(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan error, 1)
	go func() { taken <- notes.Take(path, claim) }()
	select {
	case err := <-taken:
		t.Fatalf("the file was taken away from a process that writes to it: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := writer.Write(line); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writer.Close(), <-taken); err != nil {
		t.Fatal(err)
	}
	if err := notes.Append(path, n); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int{claim: 2, path: 1} {
		if left, dropped := notes.Read(file); len(left) != want || dropped != 0 {
			t.Errorf("%s has %d notes, want %d", filepath.Base(file), len(left), want)
		}
	}
}
