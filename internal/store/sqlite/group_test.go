package sqlite_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// Only the caller of a batch that cannot be written pays: the others of the
// same group are written, with numbers that leave nothing out.
func TestGroupWithBadBatches(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "belay.db"), sqlite.Options{})
	if _, err := s.Commit(t.Context(), batch("taken")); err != nil {
		t.Fatal(err)
	}
	const callers, rounds = 32, 8
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range rounds {
				id := fmt.Sprintf("e%d-%d", i, j)
				b := batch(id+"a", id+"b")
				b.StateWrites = []kernel.StateWrite{{Namespace: id, Key: "k", Value: []byte("v")}}
				bad, conflict := i%4 == 1, i%4 == 2
				if bad { // its first event and its state are written before it fails
					b.Events[1].ID = "taken"
				}
				if conflict {
					b.Run = &kernel.RunWrite{Key: phases.RunKey{Run: id}, Version: 7}
				}
				r, err := s.Commit(t.Context(), b)
				v, readErr := s.HookState(t.Context(), id, "k")
				switch {
				case readErr != nil:
					t.Error(readErr)
				case bad && !errors.Is(err, kernel.ErrUnavailable), conflict && !errors.Is(err, kernel.ErrConflict):
					t.Errorf("%s: %v", id, err)
				case !bad && !conflict && (err != nil || r.Last != r.First+1 || v.Version == 0):
					t.Errorf("%s: %+v, %v, state %+v", id, r, err, v)
				case (bad || conflict) && (r != kernel.Receipt{} || v.Version != 0):
					t.Errorf("%s was refused and left %+v, state %+v", id, r, v)
				}
			}
		})
	}
	wg.Wait()
	if n := storetest.CheckLog(t, s); n != 1+callers/2*rounds*2 {
		t.Errorf("%d events", n)
	}
}

// A caller that comes alone commits by itself. The log that it leaves behind is moved all the same, once it rests.
func TestTheLogOfACallerAloneIsMoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	const commits, bytes = 300, 20_000
	random := rand.NewChaCha8([32]byte{1}) // is not packed any smaller
	for i := range commits {
		b := batch(fmt.Sprint("e", i))
		noise := make([]byte, bytes/2)
		random.Read(noise)
		b.Events[0].Reason = base64.StdEncoding.EncodeToString(noise)
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Size() > commits*bytes/2 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the database has %d bytes", fi.Size())
		}
	}
}

// A commit that was acknowledged while the store was closed is there, and none is written after that.
func TestCallersAloneAndClose(t *testing.T) {
	for round := range 20 {
		path := filepath.Join(t.TempDir(), "belay.db")
		s := open(t, path, sqlite.Options{})
		var written atomic.Int64
		var wg sync.WaitGroup
		for c := range 1 + round%3 {
			wg.Go(func() {
				for i := 0; ; i++ {
					if _, err := s.Commit(t.Context(), batch(fmt.Sprintf("e%d-%d", c, i))); err != nil {
						if !errors.Is(err, kernel.ErrUnavailable) {
							t.Error(err)
						}
						return
					}
					written.Add(1)
				}
			})
		}
		for written.Load() < int64(round) {
			time.Sleep(100 * time.Microsecond)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if n := storetest.CheckLog(t, open(t, path, sqlite.Options{})); n != written.Load() {
			t.Errorf("%d events of %d", n, written.Load())
		}
	}
}
