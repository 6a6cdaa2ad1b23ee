package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// Retention is by time and partitions are by number. What is older than the border goes with whole partitions, and by
// rows in the one that the border is in. No event from the border on goes, not even one that a clock which went back
// has made older.
func TestRetentionDropsPartitions(t *testing.T) {
	o := pgtest.Options(t, "retention")
	pgtest.Exec(t, o.Schema, "UPDATE settings SET span = 10")
	s := pgtest.Open(t, pgtest.Login(t, o, "kernel")) // its role may drop nothing by itself: a function does
	const day = 24 * time.Hour
	at := map[int64]time.Time{}
	write := func(days int) {
		e := event(fmt.Sprint("day-", days, "-", len(at)))
		e.Time = storetest.T0.Add(time.Duration(days) * day)
		at[commit(t, s, kernel.Batch{Now: storetest.T0, Events: []phases.Event{e}}).First] = e.Time
	}
	for n := range 75 {
		write(n)
	}
	write(3) // a clock that went back
	for n := 75; n < 90; n++ {
		write(n)
	}
	for _, c := range []struct {
		kept       int // from this day on
		partitions string
	}{
		{60, "events_1_6 events_1_7 events_1_8 events_1_9 events_1_10"},
		{65, "events_1_6 events_1_7 events_1_8 events_1_9 events_1_10"},
		{85, "events_1_8 events_1_9 events_1_10"},
	} {
		border := storetest.T0.Add(time.Duration(c.kept) * day)
		first, err := s.Events(t.Context(), wire.Query{Since: border, Limit: 1}) // as internal/statelog finds it
		if err != nil || len(first) != 1 {
			t.Fatal(first, err)
		}
		e := event(fmt.Sprint("compaction-", c.kept))
		e.Time = storetest.T0.Add(1000 * day)
		commit(t, s, kernel.Batch{Now: storetest.T0, Events: []phases.Event{e}, Compact: first[0].Seq - 1})
		for left := int64(1); left > 0; {
			if left, err = s.LogRemove(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
		}
		var partitions string
		query(t, o, "SELECT string_agg(c.relname, ' ' ORDER BY length(c.relname), c.relname) FROM pg_inherits i "+
			"JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events_1'::regclass", &partitions)
		if diff := cmp.Diff(c.partitions, partitions); diff != "" {
			t.Errorf("partitions of what is kept from day %d on (-want +got):\n%s", c.kept, diff)
		}
		left, err := s.Events(t.Context(), wire.Query{Limit: wire.MaxLimit})
		if err != nil || left[0].Seq != first[0].Seq {
			t.Errorf("the log begins with %d, and the border is at %d; %v", left[0].Seq, first[0].Seq, err)
		}
		there := map[int64]bool{}
		for _, e := range left {
			there[e.Seq] = true
		}
		for seq, when := range at {
			if seq >= first[0].Seq && !there[seq] || !when.Before(border) && !there[seq] {
				t.Errorf("event %d of %v is gone, and is to be kept from %v on", seq, when, border)
			}
		}
		storetest.CheckLog(t, s)
	}
}
