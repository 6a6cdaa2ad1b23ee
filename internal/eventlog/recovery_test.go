package eventlog_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Checkpoints of what a recovery gave up are explained by it; later ones, longer ones and
// those that a statement of another key would explain are not.
func TestARecoveryExplainsCheckpointsOfWhatWasLost(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key, other := newKeyOf(t, 1), newKeyOf(t, 2)
	for _, c := range []struct {
		name   string
		signer *eventlog.Key
		size   int64
		at     time.Time
		sound  bool
	}{
		{"of what was lost", key, 5, now, true},
		{"signed after the recovery", key, 5, now.Add(2 * time.Hour), false},
		{"beyond what the mark knew", key, 7, now, false},
		{"a recovery of another key", other, 5, now, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belay.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			commit := func(e phases.Event) {
				t.Helper()
				e.Time = now
				if _, err := s.Commit(t.Context(), kernel.Batch{Now: now, Events: []phases.Event{e}}); err != nil {
					t.Fatal(err)
				}
			}
			for _, id := range []string{"e1", "e2", "e3"} {
				commit(phases.Event{ID: id, Type: phases.EventNotice})
			}
			root, err := eventlog.Root(t.Context(), s, 3)
			if err != nil {
				t.Fatal(err)
			}
			note, err := eventlog.SignRecovery(c.signer, eventlog.Recovery{
				Checkpoint: eventlog.Checkpoint{Size: 3, Root: root, Time: now.Add(time.Hour)}, Mark: "6:AAAA", By: "dev",
				Why: "a\nnew disk"})
			if err != nil {
				t.Fatal(err)
			}
			out, _ := json.Marshal(map[string]string{"statement": string(note)})
			commit(phases.Event{ID: "r", Type: phases.EventRecovery, Output: out})
			commit(phases.Event{ID: "e5", Type: phases.EventNotice})
			lost, err := key.Sign(eventlog.Checkpoint{Size: c.size, Root: [32]byte{9}, Time: c.at})
			if err != nil {
				t.Fatal(err)
			}
			r, err := eventlog.Verify(t.Context(), s, eventlog.Evidence{Verifier: key.Verifier(), Outside: [][]byte{lost}})
			if err != nil || (r.Wrong == nil) != c.sound {
				t.Fatalf("%+v, %v", r.Wrong, err)
			}
			if c.sound &&
				(!reflect.DeepEqual(r.Recovered, []eventlog.Recovered{{Event: 4, First: 4, Last: 6, Checkpoints: 1}})) {
				t.Errorf("%+v", r.Recovered)
			}
		})
	}
}

func TestRecoveryStatements(t *testing.T) {
	key := newKeyOf(t, 1)
	want := eventlog.Recovery{Checkpoint: eventlog.Checkpoint{Size: 3, Time: time.Unix(1_700_000_000, 0).UTC()},
		Mark: "none", By: "dev", Why: "because"}
	note, err := eventlog.SignRecovery(key, want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := eventlog.OpenRecovery(note, key.Verifier()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for what, b := range map[string][]byte{
		"another size": []byte(strings.Replace(string(note), "\n3\n", "\n4\n", 1)),
		"a checkpoint": must(key.Sign(want.Checkpoint)),
	} {
		if _, err := eventlog.OpenRecovery(b, key.Verifier()); !errors.Is(err, eventlog.ErrCheckpoint) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := eventlog.OpenRecovery(note, newKeyOf(t, 2).Verifier()); !errors.Is(err, eventlog.ErrCheckpoint) {
		t.Error(err)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
