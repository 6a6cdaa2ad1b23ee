package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/internal/store/storetest"
)

// change runs SQL on a database that nobody has open.
func change(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(sql); err != nil {
		t.Fatal(err)
	}
}

// filled returns the path of a closed database with five events.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	if _, err := s.Commit(t.Context(), batch("a", "b", "c", "d", "e")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// A database from before the tree gets one over the events that it holds.
func TestOldDatabaseGetsTree(t *testing.T) {
	path := filled(t)
	change(t, path, "DROP TABLE tree; DROP TABLE tree_size; DROP TABLE checkpoints; DROP TABLE approvals; PRAGMA user_version=1")
	s := open(t, path, sqlite.Options{})
	if n := storetest.CheckLog(t, s); n != 5 {
		t.Errorf("%d leaves, want 5", n)
	}
	if _, err := s.Commit(t.Context(), batch("f")); err != nil {
		t.Fatal(err)
	}
	if n := storetest.CheckLog(t, s); n != 6 {
		t.Errorf("%d leaves, want 6", n)
	}
}

func TestOldDatabaseWithGapIsRefused(t *testing.T) {
	path := filled(t)
	change(t, path, "DROP TABLE tree; DROP TABLE tree_size; DROP TABLE checkpoints; DROP TABLE approvals; DELETE FROM events WHERE seq=3; PRAGMA user_version=1")
	if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
		s.Close()
		t.Error("a tree was grown over a gap")
	}
}

// A number that was given once is never given again, even if its event is gone.
func TestNumbersNeverComeBack(t *testing.T) {
	path := filled(t)
	change(t, path, "DELETE FROM events WHERE seq>3")
	s := open(t, path, sqlite.Options{})
	r, err := s.Commit(t.Context(), batch("f"))
	if err != nil || r.First != 6 {
		t.Errorf("receipt %+v, %v; want number 6", r, err)
	}
}

// The columns by which events are found are compared with the record.
func TestColumnsAreCompared(t *testing.T) {
	for _, col := range []string{"id", "type", "phase", "runtime", "session", "agent", "invocation", "binding", "decision", "kind", "time_ns"} {
		path := filled(t)
		value := "'x'"
		if col == "time_ns" {
			value = "7"
		}
		change(t, path, "UPDATE events SET "+col+"="+value+" WHERE seq=2")
		leaves, err := open(t, path, sqlite.Options{}).LogLeaves(t.Context(), 0, 9)
		if err != nil || len(leaves) != 5 || leaves[1].Copies || !leaves[0].Copies {
			t.Errorf("%s: %v, %+v", col, err, leaves)
		}
	}
}
