package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
)

// What a kernel has seen of others is in the database if the version is as high and the event that recorded it is in
// its place. It needs no server.
func TestWhatIsUnseen(t *testing.T) {
	seen := highwater.Seen{Version: 7, Kernel: 2, Seq: 5, Hash: [32]byte{1}}
	same, other := tlog.Hash{1}, tlog.Hash{2}
	for name, c := range map[string]struct {
		now  int64
		hash *tlog.Hash
		says string // "": it is there
	}{
		"as it was": {7, &same, ""},
		"grown":     {9, &same, ""},
		"fewer":     {6, &same, "are of version 6, and were of version 7"},
		"no event":  {7, nil, `the log of kernel "b" lacks event 5`},
		"another":   {9, &other, `the log of kernel "b" lacks event 5`},
	} {
		err := unseen(seen, c.now, "b", c.hash)
		if c.says == "" && err != nil ||
			c.says != "" && (!errors.Is(err, kernel.ErrRollback) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fullMark is a mark that cannot be written.
type fullMark struct{ marked.Mark }

func (fullMark) Intend(int64, highwater.Head, []highwater.Use, time.Time) error {
	return errors.New("no space left on device")
}

// A transaction that uses something up is not sent when that cannot be noted. It needs no server.
func TestAUseIsNotedFirst(t *testing.T) {
	e, err := newEdge(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{store: &Store{o: Options{Mark: fullMark{}}}, edge: e}
	used := &attempt{uses: []highwater.Use{{ID: highwater.Lease + "l", Count: 1}}}
	if err := w.intend(used); err != nil {
		t.Errorf("without a mark: %v", err)
	}
	w.guarded.mark = &highwater.State{}
	if w.intend(used) == nil {
		t.Error("a use that could not be noted went on")
	}
	if err := w.intend(&attempt{}); err != nil {
		t.Errorf("nothing is used up: %v", err)
	}
	// Uses of a transaction that is known not to be committed do not count, until the same are noted again.
	w.guarded.mark = &highwater.State{Uses: map[string]highwater.Use{used.uses[0].ID: used.uses[0]}}
	if w.guarded.unused(used.uses); len(w.guarded.counts().Uses) != 0 {
		t.Error("a use of a transaction that was undone counts")
	}
	more := highwater.Use{ID: highwater.Lease + "l", Count: 2}
	w.guarded.mark.Uses[more.ID] = more
	if len(w.guarded.counts().Uses) != 1 {
		t.Error("a later use does not count")
	}
}
