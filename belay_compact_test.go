package belay_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// aged makes a state directory whose log holds one event a day for ten days, the last
// of them today, and a few of its own behind them.
func aged(t *testing.T, config string) string {
	t.Helper()
	dir := state(t, config)
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "belay.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		at := time.Now().Add(-time.Duration(9-i) * 24 * time.Hour)
		e := phases.Event{ID: "day" + string(rune('0'+i)), Type: phases.EventVerdict, Time: at, Reason: "needle-" + string(rune('0'+i))}
		if _, err := s.Commit(t.Context(), kernel.Batch{Now: at, Events: []phases.Event{e}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func tamper(t *testing.T, dir, sql string) {
	t.Helper()
	c, err := sqlite3.Open("file:" + filepath.Join(dir, "belay.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Exec(sql), c.Close()); err != nil {
		t.Fatal(err)
	}
}

func contains(t *testing.T, dir, what string) bool {
	t.Helper()
	for _, f := range []string{"belay.db", "belay.db-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err == nil && bytes.Contains(b, []byte(what)) {
			return true
		}
	}
	return false
}

func TestRetention(t *testing.T) {
	dir := aged(t, guard+"events: {retention: {days: 5}}\n")
	b := open(t, dir, belay.Options{})
	now := time.Now()
	r, err := b.RetainOnce(t.Context(), now)
	if err != nil || r.Events != 5 || r.Through != 5 || r.Event == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if v := verified(t, b); v.Compacted != 5 || v.Announced != r.Event {
		t.Errorf("%+v", v)
	}
	// Not again within a day: every announcement is an event that stays.
	if r, err := b.RetainOnce(t.Context(), now.Add(20*time.Hour)); err != nil || r.Events != 0 {
		t.Errorf("a few hours later: %+v, %v", r, err)
	}
	if r, err := b.RetainOnce(t.Context(), now.Add(49*time.Hour)); err != nil || r.Events != 2 {
		t.Errorf("two days later: %+v, %v", r, err)
	}
	verified(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if contains(t, dir, "needle-2") || !contains(t, dir, "needle-8") {
		t.Error("what was removed is still in the file, or what was not is gone")
	}
	tamper(t, dir, "VACUUM") // as OPERATIONS.md says
	log, err := belay.OpenLog(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if v, err := log.Verify(t.Context(), belay.LogEvidence{}); err != nil || v.Wrong != nil || v.Compacted != 7 {
		t.Errorf("after VACUUM: %+v %+v, %v", v, v.Wrong, err)
	}
}

func TestRetentionKeepsEverythingByDefault(t *testing.T) {
	b := open(t, aged(t, guard), belay.Options{})
	if r, err := b.RetainOnce(t.Context(), time.Now().Add(1e6*time.Hour)); err != nil || r.Events != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if v := verified(t, b); v.Compacted != 0 {
		t.Errorf("%+v", v)
	}
}

// A log that somebody has changed is not compacted: that would remove what shows it.
func TestWrongLogIsNotCompacted(t *testing.T) {
	dir := aged(t, guard)
	tamper(t, dir, "UPDATE events SET body=CAST(replace(CAST(body AS TEXT), 'needle-1', 'noodle-1') AS BLOB) WHERE seq=2")
	b := open(t, dir, belay.Options{})
	o := belay.CompactOptions{Before: time.Now().Add(-5 * 24 * time.Hour)}
	for _, o.DryRun = range []bool{true, false} {
		if r, err := b.CompactLog(t.Context(), o); !errors.Is(err, belay.ErrLogWrong) || r.Events != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if es, err := b.Events(t.Context(), kernel.EventQuery{Limit: 1}); err != nil || es[0].Seq != 1 {
		t.Errorf("%+v, %v", es, err)
	}
}

// What was stopped half way goes on, and what was removed beyond it is found.
func TestCompactionGoesOn(t *testing.T) {
	for name, sql := range map[string]string{
		"stopped": "UPDATE compaction SET through=through", "more": "DELETE FROM events WHERE seq < 8", "row": "UPDATE compaction SET through=8",
		"event": "UPDATE events SET body=CAST(replace(CAST(body AS TEXT), 'needle-9', 'noodle-9') AS BLOB)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := aged(t, guard)
			b := open(t, dir, belay.Options{})
			r, err := b.CompactLog(t.Context(), belay.CompactOptions{Before: time.Now().Add(-4*24*time.Hour - time.Hour)})
			if err != nil || r.Events != 5 {
				t.Fatalf("%+v, %v", r, err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, sql)
			b = open(t, dir, belay.Options{})
			report, err := b.VerifyLog(t.Context(), belay.LogEvidence{})
			if err != nil || (report.Wrong != nil) != (name == "more" || name == "event") {
				t.Errorf("%+v %+v, %v", report, report.Wrong, err)
			}
			_, err = b.CompactLog(t.Context(), belay.CompactOptions{Before: time.Now().Add(-24*time.Hour - time.Hour)})
			if (err != nil) != (name != "stopped") || err != nil && !errors.Is(err, belay.ErrLogWrong) {
				t.Errorf("compaction: %v", err)
			}
			if es, err := b.Events(t.Context(), kernel.EventQuery{Limit: 1}); name == "row" && (err != nil || es[0].Seq != 6) {
				t.Errorf("a row without a statement had events removed: %+v, %v", es[0].Seq, err)
			}
		})
	}
}

// A file that lacks events keeps them from being removed.
func TestCompactionWaitsForSinks(t *testing.T) {
	dir, beside := withSinks(t, "    - jsonl: {path: DIR/no/events.jsonl, durable: false}\n")
	b := open(t, dir, belay.Options{})
	for range 3 {
		if _, err := b.Invoke(t.Context(), exec("rm -rf /")); err != nil {
			t.Fatal(err)
		}
	}
	o := belay.CompactOptions{Before: time.Now().Add(time.Hour)}
	if _, err := b.CompactLog(t.Context(), o); !errors.Is(err, belay.ErrSinkBehind) {
		t.Errorf("with a sink that has nothing: %v", err)
	}
	if err := os.Mkdir(filepath.Join(beside, "no"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := b.CompactLog(t.Context(), o); err != nil || r.Events == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	verified(t, b)
}
