// Package foreign reads SQLite databases that other programs keep. It decides how such a file is looked at
// without trusting it and without touching it: as a private copy, in which nothing of the database's own
// making runs. It never writes to the original, and knows no tables.
package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/files"
)

// Bounds of what is read.
const (
	MaxBytes = 256 << 20 // of the database, and of its journal
	maxValue = 16 << 20  // of one value, in bytes
	tries    = 5
)

// Sentinels, for errors.Is.
var (
	// ErrChanging means that the database changed each time while it was copied.
	ErrChanging = errors.New("the database changes while it is read")
	// ErrTable means that the database has no such table.
	ErrTable = errors.New("the database has no such table")
)

// DB is a copy of a database. It is used by one goroutine.
type DB struct {
	conn *sqlite3.Conn
	temp string
}

// Open copies a database, with its journal if it has one, and opens the copy for looking. The file has to lie in
// the directory; see files.StreamWithin, also for errors. Others are files.ErrTooLarge, ErrChanging, or of
// the database. ctx ends queries.
func Open(ctx context.Context, dir, path string) (*DB, error) {
	temp, err := os.MkdirTemp("", "belay-log-") // mode 0700
	if err != nil {
		return nil, err
	}
	db := &DB{temp: temp}
	if err := db.copy(dir, path); err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp))
	}
	if err := db.open(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close lets go of the copy and removes it.
func (d *DB) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	return errors.Join(err, os.RemoveAll(d.temp))
}

func (d *DB) name() string { return filepath.Join(d.temp, "copy.db") }

// copy copies both files until neither changed meanwhile.
func (d *DB) copy(dir, path string) error {
	for range tries {
		before := stamps(path)
		for _, suffix := range []string{"", "-wal"} {
			err := copyWithin(dir, path+suffix, d.name()+suffix)
			if errors.Is(err, fs.ErrNotExist) && suffix != "" {
				err = os.Remove(d.name() + suffix)
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
			}
			if err != nil {
				return err
			}
		}
		if stamps(path) == before {
			return nil
		}
	}
	return ErrChanging
}

// stamps is what says whether the files have changed.
func stamps(path string) string {
	text := ""
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(path + suffix); err == nil {
			text += fmt.Sprintf("%d %d;", fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return text
}

func copyWithin(dir, from, to string) error {
	in, err := files.StreamWithin(dir, from)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	if in.Size() > MaxBytes {
		return &files.Error{Path: from, Reason: fmt.Sprintf("is larger than %d bytes", MaxBytes), Err: files.ErrTooLarge}
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (d *DB) open(ctx context.Context) (err error) {
	uri := url.URL{Scheme: "file", Path: d.name()}
	if d.conn, err = sqlite3.OpenFlags(uri.String(), sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI); err != nil {
		return err
	}
	d.conn.SetInterrupt(ctx)
	d.conn.Limit(sqlite3.LIMIT_LENGTH, maxValue)
	// A database from elsewhere cannot make this process run functions, and no statement changes the copy.
	return d.conn.Exec("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA query_only=ON; PRAGMA mmap_size=0")
}

// Row is one row of a result.
type Row struct{ stmt *sqlite3.Stmt }

// Text returns a column as text, "" for NULL. It is a copy.
func (r Row) Text(n int) string { return r.stmt.ColumnText(n) }

// Int returns a column as a number.
func (r Row) Int(n int) int64 { return r.stmt.ColumnInt64(n) }

// Blob returns a copy of a column's bytes, nil for NULL.
func (r Row) Blob(n int) []byte { return r.stmt.ColumnBlob(n, nil) }

// Each calls row for each row of the query, whose parameters are the numbers. tables are those that it reads:
// each has to be a table of its own pages, since a view could be anything, and without an end. An error of row
// ends it, and is returned.
func (d *DB) Each(query string, tables []string, numbers []int64, row func(Row) error) error {
	for _, table := range tables {
		if err := d.table(table); err != nil {
			return err
		}
	}
	stmt, _, err := d.conn.Prepare(query)
	if err != nil {
		return err
	}
	defer stmt.Close() // only read
	for i, n := range numbers {
		if err := stmt.BindInt64(i+1, n); err != nil {
			return err
		}
	}
	for stmt.Step() {
		if err := row(Row{stmt}); err != nil {
			return err
		}
	}
	return stmt.Err()
}

func (d *DB) table(name string) error {
	stmt, _, err := d.conn.Prepare("SELECT type = 'table' AND rootpage > 0 FROM sqlite_schema WHERE name = ?")
	if err != nil {
		return err
	}
	defer stmt.Close() // only read
	if err := stmt.BindText(1, name); err != nil {
		return err
	}
	if !stmt.Step() || stmt.ColumnInt64(0) != 1 {
		return errors.Join(stmt.Err(), fmt.Errorf("%w: %s", ErrTable, name))
	}
	return nil
}
