package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

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
