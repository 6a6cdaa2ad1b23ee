package kernel_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A store that fails and a disk on which no file grows: the process that comes after one
// that was killed reports each action that was blocked.
func TestAKilledProcessLosesNoCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.SpoolName)
	spooled := func(s kernel.Store) change {
		return func(_ *kernel.Config, o *kernel.Options) { o.Store, o.SpoolPath = s, path }
	}
	store := &faulty{Store: memory.New()}
	h := newHost(t, []hook{{name: "guard", run: effects()}}, spooled(store))
	if err := os.Mkdir(path, 0o700); err != nil { // the file cannot be made
		t.Fatal(err)
	}
	store.arm(0, 1, true)
	const blocked = 2000 // more than memory or the reserve hold notes of
	for n := range blocked {
		r := overloadRefusal(n, phases.PreTool, false)
		r.Fault = phases.NewFault(phases.KindProtocol, "no", nil)
		if v, err := h.Refuse(t.Context(), r); v.Decision != phases.Block || v.Event != nil || err == nil {
			t.Fatalf("%+v %v", v, err)
		}
	}
	// Killed: the notes in its memory are gone.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	next := newHost(t, []hook{{name: "guard", run: effects()}}, spooled(memory.New()))
	if v := next.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Fatalf("%+v", v)
	}
	var told struct {
		Blocked int `json:"blocked"`
		Dropped int `json:"dropped"`
	}
	gaps := next.events(t, wire.Query{Type: phases.EventGap})
	if len(gaps) != 1 {
		t.Fatalf("%d gap events", len(gaps))
	}
	if err := json.Unmarshal(gaps[0].Output, &told); err != nil {
		t.Fatal(err)
	}
	if told.Blocked != blocked || told.Dropped == 0 || told.Dropped == blocked {
		t.Errorf("%+v, want %d", told, blocked)
	}
	next.invoke(t, invocation(phases.PreTool))
	if n := len(next.events(t, wire.Query{Type: phases.EventGap})); n != 1 {
		t.Errorf("%d gap events", n)
	}
	if fi, err := os.Stat(filepath.Join(filepath.Dir(path), notes.ReserveName)); err != nil ||
		fi.Size() != notes.ReserveBytes || notes.InReserve(path) {
		t.Error(errors.Join(errors.New("the reserve is not ready again"), err))
	}
}
