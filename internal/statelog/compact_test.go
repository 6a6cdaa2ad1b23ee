package statelog_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/internal/store/sqlite/sqlitetest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
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
		e := phases.Event{ID: "day" + string(rune('0'+i)), Type: phases.EventVerdict, Time: at,
			Reason: "needle-" + string(rune('0'+i))}
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
	if strings.Contains(sql, "CAST(body AS TEXT)") {
		if err := sqlitetest.Unpack(t.Context(), filepath.Join(dir, "belay.db")); err != nil {
			t.Fatal(err)
		}
	}
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
	dir := aged(t, guarded+"events: {retention: {days: 5}}\n")
	b := open(t, dir, belay.Options{})
	now := time.Now()
	r, err := statelog.Of(b.Log()).RetainOnce(t.Context(), now)
	if err != nil || r.Events != 5 || r.Through != 5 || r.Event == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if v := verified(t, b); v.Compacted != 5 || v.Announced != r.Event {
		t.Errorf("%+v", v)
	}
	// Not again within a day: every announcement is an event that stays.
	if r, err := statelog.Of(b.Log()).RetainOnce(t.Context(), now.Add(20*time.Hour)); err != nil || r.Events != 0 {
		t.Errorf("a few hours later: %+v, %v", r, err)
	}
	if r, err := statelog.Of(b.Log()).RetainOnce(t.Context(), now.Add(49*time.Hour)); err != nil || r.Events != 2 {
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
	log, err := statelog.OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if v, err := log.Verify(t.Context(), statelog.Evidence{}); err != nil || v.Wrong != nil || v.Compacted != 7 {
		t.Errorf("after VACUUM: %+v %+v, %v", v, v.Wrong, err)
	}
}

func TestRetentionKeepsEverythingByDefault(t *testing.T) {
	b := open(t, aged(t, guarded), belay.Options{})
	if r, err := statelog.Of(b.Log()).RetainOnce(t.Context(), time.Now().Add(1e6*time.Hour)); err != nil || r.Events != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if v := verified(t, b); v.Compacted != 0 {
		t.Errorf("%+v", v)
	}
}

// A log that was changed is not compacted: that would remove the proof of the change.
func TestWrongLogIsNotCompacted(t *testing.T) {
	dir := aged(t, guarded)
	tamper(t, dir, "UPDATE events SET body=CAST(replace(CAST(body AS TEXT), 'needle-1', 'noodle-1') AS BLOB) WHERE seq=2")
	b := open(t, dir, belay.Options{})
	o := statelog.CompactOptions{Before: time.Now().Add(-5 * 24 * time.Hour)}
	for _, o.DryRun = range []bool{true, false} {
		if r, err := statelog.Of(b.Log()).Compact(t.Context(), o); !errors.Is(err, statelog.ErrWrong) || r.Events != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if es, err := b.Events(t.Context(), wire.Query{Limit: 1}); err != nil || es[0].Seq != 1 {
		t.Errorf("%+v, %v", es, err)
	}
}

// An interrupted compaction goes on. If rows were changed or removed beyond it, Verify and Compact say so.
func TestCompactionGoesOn(t *testing.T) {
	for name, sql := range map[string]string{
		"stopped": "UPDATE compaction SET through=through", "more": "DELETE FROM events WHERE seq < 8",
		"row":   "UPDATE compaction SET through=8",
		"event": "UPDATE events SET body=CAST(replace(CAST(body AS TEXT), 'needle-9', 'noodle-9') AS BLOB)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := aged(t, guarded)
			b := open(t, dir, belay.Options{})
			r, err := statelog.Of(b.Log()).Compact(t.Context(),
				statelog.CompactOptions{Before: time.Now().Add(-4*24*time.Hour - time.Hour)})
			if err != nil || r.Events != 5 {
				t.Fatalf("%+v, %v", r, err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, sql)
			b = open(t, dir, belay.Options{})
			report, err := statelog.Of(b.Log()).Verify(t.Context(), statelog.Evidence{})
			if err != nil || (report.Wrong != nil) != (name != "stopped") {
				t.Errorf("%+v %+v, %v", report, report.Wrong, err)
			}
			_, err = statelog.Of(b.Log()).Compact(t.Context(),
				statelog.CompactOptions{Before: time.Now().Add(-24*time.Hour - time.Hour)})
			if (err != nil) != (name != "stopped") || err != nil && !errors.Is(err, statelog.ErrWrong) {
				t.Errorf("compaction: %v", err)
			}
			if es, err := b.Events(t.Context(), wire.Query{Limit: 1}); name == "row" && (err != nil || es[0].Seq != 6) {
				t.Errorf("a row without a statement had events removed: %+v, %v", es[0].Seq, err)
			}
		})
	}
}

// A file that lacks events keeps them from being removed.
func TestCompactionWaitsForSinks(t *testing.T) {
	dir, beside := withSinks(t, "    - jsonl: {path: DIR/no/events.jsonl, durable: false}\n")
	b := open(t, dir, belay.Options{Clock: daysAgo(3)})
	for range 3 {
		if _, err := b.Invoke(t.Context(), exec("rm -rf /")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, dir, belay.Options{})
	o := statelog.CompactOptions{Before: time.Now().Add(-60 * time.Hour)}
	if _, err := statelog.Of(b.Log()).Compact(t.Context(), o); !errors.Is(err, statelog.ErrSinkBehind) {
		t.Errorf("with a sink that has nothing: %v", err)
	}
	if err := os.Mkdir(filepath.Join(beside, "no"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := statelog.Of(b.Log()).Compact(t.Context(), o); err != nil || r.Events == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	verified(t, b)
}

// daysAgo is a clock that is so many days behind.
type daysAgo int

func (d daysAgo) Now() time.Time { return time.Now().Add(-time.Duration(d) * 24 * time.Hour) }

// Events younger than two days are never compacted, by hand or by retention; belay.yaml can
// only raise that age.
func TestYoungEventsAreNotCompacted(t *testing.T) {
	b := open(t, aged(t, guarded+"events: {retention: {days: 1}}\n"), belay.Options{})
	for _, dry := range []bool{true, false} {
		if r, err := statelog.Of(b.Log()).Compact(t.Context(),
			statelog.CompactOptions{Before: time.Now().Add(-25 * time.Hour), DryRun: dry}); err != nil || r.Through != 8 {
			t.Fatalf("two days and more: %+v, %v", r, err)
		}
		if r, err := statelog.Of(b.Log()).Compact(t.Context(),
			statelog.CompactOptions{Before: time.Now(), DryRun: dry}); !errors.Is(err,
			kernel.ErrTooYoung) || r.Events != 0 {
			t.Errorf("all of them: %+v, %v", r, err)
		}
	}
	if r, err := statelog.Of(b.Log()).RetainOnce(t.Context(), time.Now().Add(1000*time.Hour)); err != nil ||
		r.Events != 0 {
		t.Errorf("retention with a clock of its own: %+v, %v", r, err)
	}
	b = open(t, aged(t, guarded+"events: {compaction: {min_age: 120h}}\n"), belay.Options{})
	if _, err := statelog.Of(b.Log()).Compact(t.Context(),
		statelog.CompactOptions{Before: time.Now().Add(-49 * time.Hour)}); !errors.Is(err, kernel.ErrTooYoung) {
		t.Errorf("as belay.yaml says: %v", err)
	}
	if r, err := statelog.Of(b.Log()).Compact(t.Context(),
		statelog.CompactOptions{Before: time.Now().Add(-121 * time.Hour)}); err != nil || r.Events == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Where a reviewer is registered nothing is compacted by hand without an order for exactly
// these events; retention is the configuration's.
func TestCompactionTakesAnOrder(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := aged(t, guarded+"events: {retention: {days: 8}}\nreviewers: [{name: dev, key: "+
		strconv.Quote(queue.FormatReviewerKey(public))+"}]\n")
	b := open(t, dir, belay.Options{NoHooks: true})
	order := func(through int64, key ed25519.PrivateKey) *approvals.Order {
		t.Helper()
		o, err := queue.NewOrder(queue.VerbCompact, b.Log().StoreID(), kernel.CompactOrder{Through: through},
			leases.At(leases.SystemClock{}), time.Hour)
		if err == nil {
			err = queue.SignOrder(&o, "dev", key)
		}
		if err != nil {
			t.Fatal(err)
		}
		return &o
	}
	_, stranger, _ := ed25519.GenerateKey(nil)
	for name, o := range map[string]statelog.CompactOptions{
		"none":          {Before: time.Now().Add(-5 * 24 * time.Hour)},
		"another's key": {Order: order(3, stranger)},
		"too young":     {Order: order(10, key)},
		"too many":      {Order: order(1000, key)},
		"none at all":   {Order: order(0, key)},
	} {
		var refused *queue.OrderError
		if r, err := statelog.Of(b.Log()).Compact(t.Context(), o); !errors.As(err, &refused) &&
			!errors.Is(err, kernel.ErrTooYoung) ||
			r.Events != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if r, err := statelog.Of(b.Log()).RetainOnce(t.Context(), time.Now()); err != nil || r.Through != 2 {
		t.Errorf("retention: %+v, %v", r, err)
	}
	o := order(4, key)
	if r, err := statelog.Of(b.Log()).Compact(t.Context(), statelog.CompactOptions{Order: o}); err != nil ||
		r.Through != 4 ||
		r.Events != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if es, err := b.Events(t.Context(),
		wire.Query{Type: phases.EventCompaction, Newest: true, Limit: 1}); err != nil || es[0].User != "dev" {
		t.Errorf("%+v, %v", es, err)
	}
	verified(t, b)
}
