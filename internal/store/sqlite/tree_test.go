package sqlite_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/internal/store/sqlite/sqlitetest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// change runs SQL on a database that is not open.
func change(t *testing.T, path, sql string) {
	t.Helper()
	if strings.Contains(sql, "CAST(body AS TEXT)") {
		must(t, sqlitetest.Unpack(t.Context(), path))
	}
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

// older makes a database of an earlier version: without the tables that it did not
// have, after what sql did to those that it had.
func older(t *testing.T, path string, version int, sql string) {
	t.Helper()
	known := []string{"events", "runs", "state", "state_version", "latches"}
	if version > 1 {
		known = append(known, "tree", "tree_size", "checkpoints")
	}
	c, err := sqlite3.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(sql); err != nil {
		t.Fatal(err)
	}
	drop := "PRAGMA user_version=" + strconv.Itoa(version) + "; DROP INDEX events_rare;"
	st, _, err := c.Prepare("SELECT name FROM sqlite_schema WHERE type='table'")
	if err != nil {
		t.Fatal(err)
	}
	for st.Step() {
		if name := st.ColumnText(0); !slices.Contains(known, name) {
			drop += "DROP TABLE " + name + ";"
		}
	}
	if err := errors.Join(st.Err(), st.Close(), c.Exec(drop)); err != nil {
		t.Fatal(err)
	}
}

// A database from before the tree gets one over the events that it holds.
func TestOldDatabaseGetsTree(t *testing.T) {
	path := filled(t)
	unstamp(t, path)
	older(t, path, 1, "")
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
	older(t, path, 1, "DELETE FROM events WHERE seq=3")
	if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
		s.Close()
		t.Error("a tree was grown over a gap")
	}
}

// A number that was given once is never given again, even if its event is gone: by a
// process that knows what the newest event recorded, and by one that does not and refuses.
func TestNumbersNeverComeBack(t *testing.T) {
	path := filled(t)
	known := open(t, path, sqlite.Options{})
	if _, err := known.Commit(t.Context(), kernel.Batch{Now: storetest.T0}); err != nil {
		t.Fatal(err)
	}
	if _, err := known.Latch(t.Context(), wire.Session{}); err != nil {
		t.Fatal(err)
	}
	change(t, path, "DELETE FROM events WHERE seq=5")
	s := open(t, path, sqlite.Options{})
	for _, s := range []*sqlite.Store{s, known} {
		if r, err := s.Commit(t.Context(), batch("f")); !errors.Is(err, kernel.ErrTampered) || r.First != 0 {
			t.Errorf("receipt %+v, %v; want ErrTampered", r, err)
		}
	}
	if n, err := s.LogSize(t.Context()); err != nil || n != 5 {
		t.Errorf("%d leaves, %v", n, err)
	}
}

// The columns by which events are found are compared with the record.
func TestColumnsAreCompared(t *testing.T) {
	for _, col := range []string{"id", "type", "phase", "runtime", "session", "agent", "invocation", "binding", "decision",
		"kind", "time_ns"} {
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

// single makes of the tiles the table of single hashes that version 2 had.
const single = `CREATE TABLE tree (idx INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
	CREATE TABLE tree_size (size INTEGER NOT NULL) STRICT;
	INSERT INTO tree_size SELECT count(*) FROM events;
	WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM k WHERE i < 31)
		INSERT INTO tree SELECT n*32+i, substr(hashes, 1+32*i, 32) FROM tiles, k WHERE 32*i < octet_length(hashes);`

// A database with a tree keeps that tree, not one that fits the events.
func TestTreeIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	for i := range 40 {
		if _, err := s.Commit(t.Context(), batch("e"+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unstamp(t, path)
	older(t, path, 2, single)
	s = open(t, path, sqlite.Options{})
	if n := storetest.CheckLog(t, s); n != 40 {
		t.Errorf("%d leaves, want 40", n)
	}
	if _, err := s.Commit(t.Context(), batch("f")); err != nil {
		t.Fatal(err)
	}
	if n := storetest.CheckLog(t, s); n != 41 {
		t.Errorf("%d leaves, want 41", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unstamp(t, path)
	older(t, path, 2, single+"UPDATE tree SET hash=zeroblob(32) WHERE idx=3;")
	s = open(t, path, sqlite.Options{})
	if h, err := s.LogHashes(t.Context(), []int64{3}); err != nil || h[0] != [32]byte{} {
		t.Errorf("hash 3 is %x, %v: it was mended", h, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unstamp(t, path)
	older(t, path, 2, single+"DELETE FROM tree WHERE idx=3;")
	if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil {
		s.Close()
		t.Error("a tree with a hole was taken over")
	}
}

// A tree that does not even look like one stops everything, and says so.
func TestDamagedTree(t *testing.T) {
	for _, sql := range []string{
		"UPDATE tiles SET hashes=substr(hashes, 1, 33)", "UPDATE tiles SET hashes=substr(hashes, 1, 64)",
		"UPDATE tiles SET hashes=zeroblob(4096)",
	} {
		path := filled(t)
		change(t, path, sql)
		s := open(t, path, sqlite.Options{})
		if _, err := s.LogSize(t.Context()); !errors.Is(err, kernel.ErrDamaged) || !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("%s: LogSize: %v", sql, err)
		}
		if _, err := s.Commit(t.Context(), batch("f")); !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("%s: Commit: %v", sql, err)
		}
	}
}
