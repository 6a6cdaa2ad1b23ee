package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Rows that restrict are believed only if the log covers them. The last event of each
// batch carries the digest of all of them (internal/restrict), so that it is in a leaf
// of the tree. A reader compares the rows that it reads with the set that the newest
// leaf stands for, in one transaction. The writer does more: when another connection has
// written since its last transaction, it reads all rows anew before it writes.

// restrictionsSchema holds what names the tables that differ, and the first event with
// a digest; since 0 means that there is none yet. Neither is believed by itself. probed_ns
// is when Probe last wrote.
const restrictionsSchema = `CREATE TABLE restrictions (
		since     INTEGER NOT NULL,
		tables    BLOB NOT NULL,
		probed_ns INTEGER NOT NULL
	) STRICT;
	INSERT INTO restrictions VALUES (0, x'', 0);`

// restricting is where the rows of a table are: the first keys of the columns are its
// key, and all of them its content.
type restricting struct {
	table   restrict.Table
	columns string
	count   int // of columns
	keys    int
	from    string
	where   string // one row, by its key
	group   string
}

const (
	latchColumns    = "runtime, session, since_ns, body"
	approvalColumns = "id, kind, key, state, credential, runtime, session, agent, ends_ns, body"
	leaseColumns    = "l.id, l.parent, l.depth, l.runtime, l.session, l.agent, l.credential, l.state, l.uses, l.max_uses, " +
		"l.not_before_ns, l.expires_ns, l.boot, l.boot_from_ns, l.boot_until_ns, l.token, l.body"
	runColumns   = "runtime, session, run, version, used_ns, metadata, retries"
	stateColumns = "namespace, key, version, value"
)

// sources says where the rows of each table are.
func sources() []restricting {
	return []restricting{
		restrict.Latches: {table: restrict.Latches, columns: latchColumns, count: 4, keys: 2, from: "latches",
			where: "runtime=? AND session=?"},
		restrict.Approvals: {table: restrict.Approvals, columns: approvalColumns, count: 10, keys: 1, from: "approvals",
			where: "id=?"},
		restrict.ApprovalKeys: {table: restrict.ApprovalKeys, columns: "kind, key, max(id)", count: 3, keys: 2,
			from: "approvals", where: "kind=? AND key=?", group: " GROUP BY kind, key"},
		restrict.Leases: {table: restrict.Leases, columns: leaseColumns, count: 17, keys: 1, from: "leases l",
			where: "l.id=?"},
		restrict.LeaseClock: {table: restrict.LeaseClock, columns: "wall_ns", count: 1, from: "lease_clock", where: "1"},
		restrict.Runs: {table: restrict.Runs, columns: runColumns, count: 7, keys: 3, from: "runs",
			where: "runtime=? AND session=? AND run=?"},
		restrict.State: {table: restrict.State, columns: stateColumns, count: 4, keys: 2, from: "state",
			where: "namespace=? AND key=?"},
		restrict.StateVersion: {table: restrict.StateVersion, columns: "version", count: 1, from: "state_version",
			where: "1"},
		restrict.Compaction: {table: restrict.Compaction, columns: "through, event", count: 2, from: "compaction",
			where: "1"},
	}
}

// content digests the first count columns of the row under the statement.
func (c *conn) content(st *sqlite3.Stmt, count int) restrict.Digest {
	for i := range count {
		switch t := st.ColumnType(i); t {
		case sqlite3.INTEGER:
			c.hasher.Int(st.ColumnInt64(i))
		case sqlite3.TEXT:
			c.hasher.TextBytes(st.ColumnRawText(i))
		case sqlite3.BLOB:
			c.hasher.Blob(st.ColumnRawBlob(i))
		default:
			c.hasher.Other(byte(t))
		}
	}
	return c.hasher.Sum()
}

// keyOf returns the key of the row under the statement.
func (r *restricting) keyOf(st *sqlite3.Stmt) string {
	parts := make([]string, r.keys)
	for i := range parts {
		parts[i] = st.ColumnText(i)
	}
	return restrict.Key(parts...)
}

// loadRows reads all rows that restrict, and what the schema is.
func loadRows(c *conn) (*restrict.Set, error) {
	e := (&restrict.Set{}).Edit()
	for i := range c.sources {
		r := &c.sources[i]
		n := 0
		err := c.query("SELECT "+r.columns+" FROM "+r.from+r.group, func(st *sqlite3.Stmt) error {
			key := r.keyOf(st)
			if r.keys == 0 && n > 0 {
				key = fmt.Sprint("row ", n+1) // a table that has one row
			}
			n++
			e.Put(r.table, key, c.content(st, r.count))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return e.Set(), nil
}

// A touch names a row that a batch may have changed.
type touch struct {
	table restrict.Table
	key   [3]string
}

// touch notes that a row may have changed.
func (c *conn) touch(t restrict.Table, key ...string) {
	n := touch{table: t}
	copy(n.key[:], key)
	if last := c.touched[max(0, len(c.touched)-8):]; !slices.Contains(last, n) {
		c.touched = append(c.touched, n) // some twice, which costs a look
	}
}

// retouch reads the rows that were touched, and returns the set with them. It reads them
// back, so that the digest covers the rows as they are stored.
func retouch(c *conn, set *restrict.Set) (*restrict.Set, error) {
	if len(c.touched) == 0 {
		return set, nil
	}
	e := set.Edit()
	for _, t := range c.touched {
		r := &c.sources[t.table]
		key := restrict.Key(t.key[:r.keys]...)
		args := make([]any, r.keys)
		for i := range args {
			args[i] = t.key[i]
		}
		found := false
		err := c.query(c.oneRow[t.table], func(st *sqlite3.Stmt) error {
			found = true
			e.Put(r.table, key, c.content(st, r.count))
			return nil
		}, args...)
		if err != nil {
			return nil, err
		}
		if !found {
			e.Delete(r.table, key)
		}
	}
	c.touched = c.touched[:0]
	return e.Set(), nil
}

// A head is what the newest leaf says about the rows.
type head struct {
	set     *restrict.Set // nil: nothing is recorded yet
	adopted bool
	seq     int64 // the newest event
}

// heads remembers what the last rows of the tree stand for. A row holds the hash of the
// newest leaf, or one that is over it, and the leaf holds the digest of the rows: what
// was true of it once stays true. It is safe for concurrent use.
type heads struct {
	mu   sync.Mutex
	ring [16]struct {
		row  int64
		tail []byte
		head head
	}
	next int
}

func (h *heads) find(row int64, tail []byte) (head, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.ring { // the newest first
		e := &h.ring[(h.next+len(h.ring)-1-i)%len(h.ring)]
		if e.row == row && len(e.tail) > 0 && bytes.Equal(e.tail, tail) {
			return e.head, true
		}
	}
	return head{}, false
}

// withRoot returns a set with the root.
func (h *heads) withRoot(root restrict.Digest) *restrict.Set {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.ring {
		if s := h.ring[i].head.set; s != nil && s.Root() == root {
			return s
		}
	}
	return nil
}

func (h *heads) put(row int64, tail []byte, now head) {
	if len(tail) == 0 {
		return // a log without events
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &h.ring[h.next]
	e.row, e.tail, e.head = row, append(e.tail[:0], tail...), now
	h.next = (h.next + 1) % len(h.ring)
}

// recorded is what stands in the log and beside it about the rows.
type recorded struct {
	seq     int64 // the newest event
	root    restrict.Digest
	adopted bool   // the event carries root
	node    []byte // the digests of the tables, if they are those of root
}

// recordedAt reads what the newest event records. The error is kernel.ErrTampered if the event
// is not the one of the tree.
func recordedAt(c *conn, size int64) (out recorded, err error) {
	out.seq = size
	since := int64(0)
	err = c.query("SELECT since, tables FROM restrictions", func(st *sqlite3.Stmt) error {
		since, out.node = st.ColumnInt64(0), st.ColumnBlob(1, nil)
		return nil
	})
	if err != nil || size == 0 {
		return out, err
	}
	var body []byte
	err = c.query(oneBody, func(st *sqlite3.Stmt) (err error) {
		body, err = (&leaves{conn: c}).leaf(nil, size, st.ColumnRawBlob(0))
		return err
	}, size)
	if err != nil && !errors.Is(err, errUnreadable) {
		return out, err
	}
	hashes, err := readHashes(c)([]int64{tlog.StoredHashIndex(0, size-1)})
	if err != nil {
		return out, err
	}
	if tlog.RecordHash(body) != hashes[0] {
		return out, &kernel.Tampered{Seq: size, Tables: []string{"events"}}
	}
	out.root, out.adopted = leaf.StampOf(body)
	if !out.adopted && since != 0 {
		return out, &kernel.Tampered{Seq: size, Tables: []string{"events"}}
	}
	if d, ok := restrict.RootOf(out.node); !ok || d != out.root {
		out.node = nil
	}
	return out, nil
}

// compare returns nil if the rows are those that are recorded, else the tables or rows that differ, as far as known.
func (s *Store) compare(set *restrict.Set, rec *recorded) error {
	if !rec.adopted || set.Root() == rec.root || s.unproven {
		return nil
	}
	t := &kernel.Tampered{Seq: rec.seq}
	for _, table := range set.Differ(rec.node) {
		t.Tables = append(t.Tables, table.String())
	}
	if want := s.heads.withRoot(rec.root); want != nil {
		t.Tables = nil
		for _, ch := range restrict.Diff(want, set, kernel.MaxTamperedRows) {
			t.Add(ch.Table.String(), ch.Key, ch.What)
		}
	}
	return t
}

// A view is the rows that restrict as one read transaction sees them.
type view struct {
	*conn
	head
}

// look returns what the newest leaf stands for. It is called inside a transaction.
func (s *Store) look(c *conn) (*view, error) {
	if s.unproven {
		return &view{conn: c}, nil
	}
	row, tail, err := lastRow(c)
	if err != nil {
		return nil, err
	}
	if h, ok := s.heads.find(row, tail); ok {
		return &view{conn: c, head: h}, nil
	}
	size, _, err := treeSize(c)
	if err != nil {
		return nil, err
	}
	rec, err := recordedAt(c, size)
	if err != nil {
		return nil, err
	}
	h := head{adopted: rec.adopted, seq: size}
	if rec.adopted {
		if h.set = s.heads.withRoot(rec.root); h.set == nil {
			if h.set, err = s.load(c); err == nil {
				err = s.compare(h.set, &rec)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	s.heads.put(row, tail, h)
	return &view{conn: c, head: h}, nil
}

// load reads all rows that restrict. A schema that the migrations do not make is an error:
// a trigger or an index can take a row away that was written.
func (s *Store) load(c *conn) (*restrict.Set, error) {
	if err := s.checkSchema(c); err != nil {
		return nil, err
	}
	return loadRows(c)
}

// row checks the row under the statement, whose first columns are those of the table.
func (v *view) row(t restrict.Table, st *sqlite3.Stmt) error {
	if !v.adopted {
		return nil
	}
	r := &v.sources[t]
	return v.holds(t, r.keyOf(st), v.content(st, r.count))
}

func (v *view) holds(t restrict.Table, key string, got restrict.Digest) error {
	want, ok := v.set.Get(t, key)
	switch {
	case !ok:
		return v.tampered(t, key, "added")
	case want != got:
		return v.tampered(t, key, "changed")
	}
	return nil
}

// missing checks that there is no row with the key.
func (v *view) missing(t restrict.Table, key ...string) error {
	if !v.adopted {
		return nil
	}
	k := restrict.Key(key...)
	if _, ok := v.set.Get(t, k); ok {
		return v.tampered(t, k, "missing")
	}
	return nil
}

func (v *view) tampered(t restrict.Table, key, what string) error {
	err := &kernel.Tampered{Seq: v.seq}
	err.Add(t.String(), key, what)
	return err
}

// single checks a table that has one row.
func (v *view) single(t restrict.Table) error {
	if !v.adopted {
		return nil
	}
	n := 0
	err := v.query(v.oneRow[t], func(st *sqlite3.Stmt) error {
		if n++; n > 1 {
			return v.tampered(t, "", "added")
		}
		return v.row(t, st)
	})
	if err == nil && n == 0 {
		err = v.tampered(t, "", "missing")
	}
	return err
}

// schemaText returns everything that the database's schema says, but for tables of SQLite's own
// that do nothing here and may stay when what made them is gone.
func schemaText(c *sqlite3.Conn) (string, error) {
	st, _, err := c.Prepare(`SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema
		WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4', 'sqlite_sequence')) ORDER BY type, name`)
	if err != nil {
		return "", err
	}
	defer st.Close()
	var b strings.Builder
	for st.Step() {
		for i := range 4 {
			b.WriteString(st.ColumnText(i))
			b.WriteByte(0)
		}
	}
	return b.String(), st.Err()
}

// ownSchemaDigest is the digest of what ownSchema returns. To run all migrations for a comparison
// would take longer than to open the database.
const ownSchemaDigest = "sha256:406a2364455a32055c038dae8405f3268a53bd339d1ec7e95630ce63cf29db75"

// ownSchema returns the schema that the migrations make.
func ownSchema() (text string, err error) {
	c, err := sqlite3.Open(":memory:")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := migrate(c, false); err != nil {
		return "", err
	}
	return schemaText(c)
}

// checkSchema compares the database's schema with that of the migrations.
func (s *Store) checkSchema(c *conn) error {
	got, err := schemaText(c.Conn)
	if err != nil {
		return err
	}
	if phases.ByteDigest([]byte(got)) != ownSchemaDigest {
		return &kernel.Tampered{Tables: []string{"sqlite_schema"}}
	}
	return nil
}
