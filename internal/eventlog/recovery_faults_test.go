package eventlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A recovery that cannot be read explains nothing, and neither does the log verify without it.
func TestARecoveryThatCannotBeRead(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 3)
	root, err := eventlog.Root(t.Context(), s, 3)
	if err != nil {
		t.Fatal(err)
	}
	statement, err := eventlog.SignRecovery(k, eventlog.Recovery{
		Checkpoint: eventlog.Checkpoint{Size: 3, Root: root, Time: t0.Add(time.Hour)}, Mark: "6:AAAA", By: "dev",
		Why: "a new disk",
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(map[string]string{"statement": string(statement)})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, kernel.Batch{Events: []phases.Event{{ID: "r", Type: phases.EventRecovery, Time: t0, Output: out}}})
	lost, err := k.Sign(eventlog.Checkpoint{Size: 5, Root: [32]byte{9}, Time: t0})
	if err != nil {
		t.Fatal(err)
	}
	ev := eventlog.Evidence{Verifier: k.Verifier(), Outside: [][]byte{lost}}
	eachFailure(t, s, func(t *testing.T, f *faulty) {
		r, err := eventlog.Verify(t.Context(), f, ev)
		switch {
		case f.calls < f.fails:
			if err != nil || r.Wrong != nil || len(r.Recovered) != 1 || r.Recovered[0].Checkpoints != 1 {
				t.Errorf("nothing fails: %+v, %v", r, err)
			}
		case err != nil:
			if !errors.Is(err, eventlog.ErrLog) || !errors.Is(err, errDisk) || !cmp.Equal(eventlog.Report{}, r) {
				t.Errorf("call %d fails: %+v, %v", f.fails, r, err)
			}
		case r.Wrong == nil || !strings.Contains(r.Wrong.Text, "cannot be read: "+errDisk.Error()):
			t.Errorf("call %d fails: %+v", f.fails, r.Wrong)
		}
	})
}
