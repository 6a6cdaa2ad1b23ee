package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// A query for events of one type reads those events only, however long the log is. Status,
// doctor, sinks and a reload make such queries: a daemon whose status takes longer the longer
// its log is ends up unhealthy.
func TestRareTypesAreFoundByAnIndex(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "belay.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Unix(1<<30, 0)
	for name, q := range map[string]wire.Query{
		"the newest":             {Newest: true, Limit: 50},
		"the newest of a day":    {Newest: true, Since: now, Limit: 1000},
		"what came after":        {After: 7, Before: 9, Limit: 1000},
		"one decision":           {Decision: "configured", After: 7, Newest: true, Limit: 1},
		"one decision of a time": {Decision: "requested", Since: now, Until: now.Add(time.Hour)},
	} {
		for _, q.Type = range phases.EventTypes() {
			plan := planOf(t, s, &q)
			if frequent := q.Type == phases.EventHook || q.Type == phases.EventVerdict; frequent {
				continue // most of the log
			}
			if !strings.Contains(plan, "events_rare (type=? AND seq>? AND seq<?)") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s of type %s: %s", name, q.Type, plan)
			}
		}
	}
}

func planOf(t *testing.T, s *Store, q *wire.Query) string {
	t.Helper()
	sql, args := eventSQL(q, q.EffectiveLimit())
	return planOfSQL(t, s, sql, args)
}

func planOfSQL(t *testing.T, s *Store, sql string, args []any) string {
	t.Helper()
	var plan []string
	err := s.read(t.Context(), "explain", func(c *conn) error {
		return c.query("EXPLAIN QUERY PLAN "+sql, func(st *sqlite3.Stmt) error {
			plan = append(plan, st.ColumnText(3))
			return nil
		}, args...)
	})
	if err != nil || len(plan) == 0 {
		t.Fatalf("no plan: %v", err)
	}
	return strings.Join(slices.Clip(plan), "; ")
}
