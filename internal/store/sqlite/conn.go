package sqlite

import (
	"fmt"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/eventpack"
	"github.com/belay-hooks/belay/internal/restrict"
)

// conn is one connection with its prepared statements. It is used by one
// goroutine at a time.
type conn struct {
	*sqlite3.Conn
	stmts map[string]*sqlite3.Stmt
	file  os.FileInfo // that was opened; nil when there is none
	era   int64       // of the store when it was opened; readers only
	seen  int64       // the last time that was noted for leases; see seen

	sources   []restricting
	oneRow    []string // the statement that reads one row of each table
	hasher    restrict.Hasher
	touched   []touch // by the batch that is being written
	body      []byte  // of the event that is being written
	column    []byte  // in which it is stored
	insertion insertion
	packs     *eventpack.Codec
}

func openConn(path, vfs string, readOnly, immutable bool, packs *eventpack.Codec) (*conn, error) {
	flags := sqlite3.OPEN_READWRITE | sqlite3.OPEN_URI
	if readOnly {
		flags = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI
	}
	before, _ := os.Stat(path)
	c, err := sqlite3.OpenFlags(fileURI(path, vfs, immutable), flags)
	if err != nil {
		return nil, err
	}
	ok := false
	defer func() {
		if !ok {
			c.Close()
		}
	}()
	if err := c.BusyTimeout(busyTimeout); err != nil {
		return nil, err
	}
	// trusted_schema off: a database from elsewhere cannot make us run functions.
	pragmas := "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=FULL;"
	if !readOnly {
		// secure_delete: SQLite overwrites removed content, and does not only forget it.
		pragmas += "PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON;"
	}
	if err := c.Exec(pragmas); err != nil {
		return nil, err
	}
	if mode, err := pragmaText(c, "PRAGMA journal_mode"); err != nil {
		return nil, err
	} else if mode != "wal" && !immutable {
		return nil, fmt.Errorf("journal mode is %q, wanted a write-ahead log", mode)
	}
	if after, _ := os.Stat(path); before != nil && (after == nil || !os.SameFile(before, after)) {
		return nil, fmt.Errorf("%w: the file was replaced while it was opened", sqlite3.CANTOPEN)
	}
	ok = true
	out := &conn{Conn: c, stmts: map[string]*sqlite3.Stmt{}, sources: sources(), file: before,
		packs: packs}
	for _, r := range out.sources {
		out.oneRow = append(out.oneRow, "SELECT "+r.columns+" FROM "+r.from+" WHERE "+r.where+r.group)
	}
	return out, nil
}

func pragmaText(c *sqlite3.Conn, sql string) (string, error) {
	stmt, _, err := c.Prepare(sql)
	if err != nil {
		return "", err
	}
	defer stmt.Close()
	if !stmt.Step() {
		return "", stmt.Err()
	}
	return stmt.ColumnText(0), nil
}

// prepare returns the statement, ready to be bound.
func (c *conn) prepare(sql string) (*sqlite3.Stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, err
	}
	c.stmts[sql] = s
	return s, nil
}

// query binds args and calls row for each row until it returns an error.
func (c *conn) query(sql string, row func(*sqlite3.Stmt) error, args ...any) (err error) {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer func() {
		if e := s.Reset(); err == nil {
			err = e
		}
		if e := s.ClearBindings(); err == nil {
			err = e
		}
	}()
	for i, a := range args {
		if err := bind(s, i+1, a); err != nil {
			return err
		}
	}
	for s.Step() {
		if row == nil {
			continue
		}
		if err := row(s); err != nil {
			return err
		}
	}
	return s.Err()
}

// exec runs a statement that answers no rows.
func (c *conn) exec(sql string, args ...any) error { return c.query(sql, nil, args...) }

func bind(s *sqlite3.Stmt, i int, a any) error {
	switch a := a.(type) {
	case string:
		return s.BindText(i, a)
	case int64:
		return s.BindInt64(i, a)
	case int:
		return s.BindInt64(i, int64(a))
	case time.Time:
		return s.BindInt64(i, a.UnixNano())
	case []byte:
		if len(a) == 0 { // an empty value is not NULL
			return s.BindZeroBlob(i, 0)
		}
		return s.BindBlob(i, a)
	}
	return fmt.Errorf("cannot bind %T", a)
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		s.Close()
	}
	return c.Conn.Close()
}
