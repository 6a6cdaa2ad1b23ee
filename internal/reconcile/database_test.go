package reconcile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/reconcile"
	"github.com/belay-hooks/belay/internal/store/sqlite/foreign"
)

// tables are those of the recorded databases, as far as rows of them were recorded.
const tables = `CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE part (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, created_at INTEGER, updated_at INTEGER);
CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB);`

// makeDatabase makes the database of a run whose rows were recorded.
func makeDatabase(t *testing.T, dir, name string) {
	t.Helper()
	rows, err := os.ReadFile(filepath.Join(dir, "rows.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700)); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(path)
	db := openDatabase(t, path, tables)
	defer db.Close()
	for line := range strings.Lines(string(rows)) {
		var r struct {
			Table string         `json:"table"`
			Row   map[string]any `json:"row"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		var names, marks []string
		for name := range r.Row {
			names, marks = append(names, name), append(marks, "?")
		}
		stmt, _, err := db.Prepare("INSERT INTO " + r.Table + " (" + strings.Join(names, ",") + ") VALUES (" +
			strings.Join(marks, ",") + ")")
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			switch v := r.Row[name].(type) {
			case string:
				err = stmt.BindText(i+1, v)
			case float64:
				err = stmt.BindInt64(i+1, int64(v))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		stmt.Step()
		if err := stmt.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func openDatabase(t *testing.T, path, schema string) *sqlite3.Conn {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err == nil {
		err = db.Exec(schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Calls that are gone from a database, or differ from what was read before, are findings; later ones are not.
func TestRewrittenDatabases(t *testing.T) {
	for _, r := range runs() {
		if filepath.Ext(r.log) == ".jsonl" {
			continue
		}
		for name, change := range map[string]struct {
			edit func(o object) object
			want int
		}{
			"nothing": {func(o object) object { return o }, 0},
			"a call gone": {func(o object) object {
				if about(o, "toolu_004_0") {
					return nil
				}
				return o
			}, 1},
			"a call altered": {func(o object) object {
				if callID(o) == "toolu_002_0" {
					alter(o)
				}
				return o
			}, 1},
		} {
			t.Run(r.name+"/"+name, func(t *testing.T) {
				m, dir := r.events(t), r.copied(t)
				r.again(t, m, dir)
				editObjects(t, dir, change.edit)
				got := r.again(t, m, dir)
				if n := count(&got)[wire.FindingRewritten]; n != change.want {
					t.Errorf("%d: %s", n, shown(t, got))
				}
			})
		}
	}
}

// A database that is none, has other tables, or views in their place, is not read, and nothing of it runs.
func TestHostileDatabases(t *testing.T) {
	r := runs()[6]
	m := r.events(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "opencode.db")
	for name, make := range map[string]func(){
		"text":         func() { write(t, path, strings.Repeat("no database ", 1000)) },
		"empty":        func() { write(t, path, "") },
		"other tables": func() { openDatabase(t, path, "CREATE TABLE x (y)").Close() },
		"a view": func() {
			openDatabase(t, path, `CREATE VIEW session AS SELECT 'a' AS id, '' AS parent_id, 1 AS time_created,
				9e18 AS time_updated; CREATE TABLE part (id, session_id, time_created, data)`).Close()
		},
		"a table of a module": func() {
			openDatabase(t, path, `CREATE TABLE part (id, session_id, time_created, data); PRAGMA writable_schema=ON;
				INSERT INTO sqlite_schema VALUES ('table', 'session', 'session', 0,
				'CREATE VIRTUAL TABLE session USING fts5(id, parent_id, time_created, time_updated)')`).Close()
		},
		"a view without an end": func() {
			openDatabase(t, path, `CREATE TABLE part (id, session_id, time_created, data);
				CREATE VIEW session AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c)
				SELECT x AS id, '' AS parent_id, x AS time_created, x AS time_updated FROM c`).Close()
		},
	} {
		_ = os.Remove(path)
		make()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		list, err := reconcile.Compare(ctx, m, r.question(dir, path))
		cancel()
		if err == nil {
			t.Errorf("%s: %s", name, shown(t, list))
		} else if strings.HasPrefix(name, "a ") && !errors.Is(err, foreign.ErrTable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A file beside it that is no journal is not opened either.
	_ = os.Remove(path)
	openDatabase(t, path, tables).Close()
	write(t, filepath.Join(t.TempDir(), "wal"), "x")
	if err := os.Symlink(filepath.Join(t.TempDir(), "wal"), path+"-wal"); err != nil {
		t.Fatal(err)
	}
	if _, err := reconcile.Compare(t.Context(), m, r.question(dir, path)); !errors.Is(err, files.ErrElsewhere) {
		t.Errorf("a journal elsewhere: %v", err)
	}
}
