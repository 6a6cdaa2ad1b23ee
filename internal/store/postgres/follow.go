package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// Rows that restrict are believed only if a log covers them: the row shared names the event that records the
// digest of all of them, and that event is a leaf of the tree of its kernel. A kernel reads all rows once, and
// from then on the digests of those that others change.

// shared is the row of that name.
type shared struct {
	version      int64
	tables       []byte
	kernel       int32
	seq, leaf    int64
	wall         int64
	stateVersion int64

	hash tlog.Hash // of the event, once it is known to be in the tree
}

const sharedColumns = "s.version, s.tables, s.kernel, s.seq, s.leaf, s.wall_ns, s.state_version"

func (s *shared) fields() []any {
	return []any{&s.version, &s.tables, &s.kernel, &s.seq, &s.leaf, &s.wall, &s.stateVersion}
}

// scan reads the row. Without it nothing says what restricts.
func (s *shared) scan(row pgx.Row) error {
	err := row.Scan(s.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = &kernel.Tampered{Tables: []string{"shared"}}
	}
	return err
}

const (
	readShared   = "SELECT " + sharedColumns + " FROM shared s"
	changesAfter = "SELECT version, rows FROM changes WHERE version > $1 ORDER BY version"
	beginView    = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
)

// gapError is a class of errors for errors.Is: the versions in between are not there any more, or cannot be read. All
// rows are to be read anew.
type gapError struct{}

func (gapError) Error() string { return "the changes of the rows that restrict cannot be followed" }

func errGap() error { return gapError{} }

// followed returns the set of the version of now, from the set of an earlier one and the changes since.
func followed(version int64, set *restrict.Set, now *shared, rows pgx.Rows) (*restrict.Set, error) {
	var n int64
	var b []byte
	if now.version < version {
		rows.Close()
		return nil, wentBack(now.version, version)
	}
	_, err := pgx.ForEachRow(rows, []any{&n, &b}, func() (err error) {
		if n != version+1 {
			return errGap()
		}
		version = n
		set, err = applyDeltas(set, b)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case version != now.version:
		return nil, errGap()
	}
	return set, recorded(set, now)
}

func wentBack(now, before int64) error {
	return rolledBack("the rows that restrict are of version %d, and were of version %d before", now, before)
}

// recorded compares a set with the digests that the row shared holds.
func recorded(set *restrict.Set, now *shared) error {
	if now.version == 0 {
		if fresh := freshSet(); set.Root() != fresh.Root() {
			return differing(set, fresh.Node(), now)
		}
		return numbered(set, now)
	}
	if string(set.Node()) != string(now.tables) {
		return differing(set, now.tables, now)
	}
	return numbered(set, now)
}

// numbered compares the numbers in the row shared with a set: the clock, and the version of values.
func numbered(set *restrict.Set, now *shared) error {
	var h restrict.Hasher
	for _, n := range []struct {
		at    place
		value int64
	}{{clockPlace(), now.wall}, {versionPlace(), now.stateVersion}} {
		if d, _ := set.Get(n.at.table, n.at.key); d != intContent(&h, n.value) {
			err := tampered(n.at, "changed")
			if t := (*kernel.Tampered)(nil); errors.As(err, &t) {
				t.Seq = now.seq
			}
			return err
		}
	}
	return nil
}

// compactedAs compares what a kernel's row says of its compaction with a set.
func compactedAs(set *restrict.Set, kernel int32, own *single) error {
	var h restrict.Hasher
	p := compactionPlace(kernel)
	d, there := set.Get(p.table, p.key)
	if there != (own.through > 0) || there && d != intContent(&h, own.through, own.announced) {
		return tampered(p, "changed")
	}
	return nil
}

const compactionStored = "SELECT through, announced FROM kernels WHERE id = $1"

// freshSet is what restricts in a database in which nothing was written yet.
func freshSet() *restrict.Set {
	var h restrict.Hasher
	e := (&restrict.Set{}).Edit()
	for _, p := range []place{clockPlace(), versionPlace()} {
		e.Put(p.table, p.key, intContent(&h, 0))
	}
	return e.Set()
}

func differing(set *restrict.Set, node []byte, now *shared) error {
	t := &kernel.Tampered{Seq: now.seq}
	for _, table := range set.Differ(node) {
		t.Tables = append(t.Tables, table.String())
	}
	if len(t.Tables) == 0 {
		t.Tables = []string{"shared"}
	}
	return t
}

const vouching = `SELECT e.body, t.hashes, k.size, k.tail FROM kernels k
	LEFT JOIN events e ON e.kernel = $1 AND e.seq = $2
	LEFT JOIN tiles t ON t.kernel = $1 AND t.n = $3 WHERE k.id = $1`

// vouch checks that the event that the row shared names records the digests in it, and is in the tree of its kernel.
func vouch(ctx context.Context, q querier, now *shared) error {
	if now.version == 0 {
		return nil
	}
	bad := &kernel.Tampered{Seq: now.seq, Tables: []string{"events"}}
	if now.version < 0 || now.seq <= 0 || now.leaf != tlog.StoredHashIndex(0, now.seq-1) {
		return &kernel.Tampered{Tables: []string{"shared"}}
	}
	body, hash, err := recording(ctx, q, now)
	if err != nil {
		return err
	}
	if hash == nil || tlog.RecordHash(body) != *hash {
		return bad
	}
	root, ok := restrict.RootOf(now.tables)
	if stamp, stamped := leaf.SharedStampOf(body); !ok || !stamped || stamp != root {
		return bad
	}
	now.hash = *hash
	return nil
}

// recording reads the event that the row shared names. hash is what the tree has in its place; nil: nothing.
func recording(ctx context.Context, q querier, of *shared) (body []byte, hash *tlog.Hash, err error) {
	var hashes, tail []byte
	var size int64
	row := of.leaf / rowHashes
	err = q.QueryRow(ctx, vouching, of.kernel, of.seq, row).Scan(&body, &hashes, &size, &tail)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if row == tlog.StoredHashCount(size)/rowHashes {
		hashes = tail
	}
	if at := int(of.leaf % rowHashes * tlog.HashSize); len(hashes) >= at+tlog.HashSize {
		hash = (*tlog.Hash)(hashes[at : at+tlog.HashSize])
	}
	return body, hash, nil
}

// follow reads what other kernels have changed.
func (w *writer) follow(ctx context.Context) error {
	now, set, err := w.store.look(ctx, w.conn, w.version, w.set)
	if errors.Is(err, errGap()) {
		w.set = nil
		return w.load(ctx)
	}
	if err == nil {
		w.took(&now, set)
	}
	return err
}

// load reads all rows that restrict.
func (w *writer) load(ctx context.Context) error {
	now, set, err := w.store.look(ctx, w.conn, 0, nil)
	if err != nil {
		return err
	}
	if now.version < w.version {
		return wentBack(now.version, w.version)
	}
	w.took(&now, set)
	return nil
}

// took notes what was read of the rows that restrict.
func (w *writer) took(now *shared, set *restrict.Set) {
	w.version, w.set, w.single = now.version, set, single{wall: now.wall, version: now.stateVersion}
	w.followed = *now
}

// beginner can begin a transaction.
type beginner interface {
	BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error)
}

// look returns the rows that restrict as they are: from a set of an earlier version, or without one all of them. It
// remembers them.
func (s *Store) look(ctx context.Context, c beginner, version int64, set *restrict.Set) (now shared, _ *restrict.Set,
	err error) {
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return now, nil, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // it has only read
	if err = now.scan(tx.QueryRow(ctx, readShared)); err != nil {
		return now, nil, err
	}
	if set == nil {
		if set, err = loadRows(ctx, tx, &now); err == nil {
			err = recorded(set, &now)
		}
		if t := tamperedOf(err); t != nil {
			err = s.named(t, set, now.version)
		}
	} else {
		var rows pgx.Rows
		if rows, err = tx.Query(ctx, changesAfter, version); err == nil {
			set, err = followed(version, set, &now, rows)
		}
	}
	if err == nil {
		err = vouch(ctx, tx, &now)
	}
	if err != nil {
		return now, nil, err
	}
	s.sets.put(now.version, set)
	return now, set, nil
}

// The statements that read all rows that restrict.
const (
	allLatches     = "SELECT " + latchColumns + " FROM latches l"
	allApprovals   = "SELECT " + approvalColumns + " FROM approvals a"
	allLeases      = "SELECT " + leaseColumns + " FROM leases l"
	allRuns        = "SELECT " + runColumns + " FROM runs r"
	allValues      = "SELECT " + stateColumns + " FROM state s"
	allCompactions = "SELECT id, through, announced FROM kernels WHERE through > 0"
)

// loadRows digests all rows that restrict.
func loadRows(ctx context.Context, q querier, now *shared) (*restrict.Set, error) {
	e := (&restrict.Set{}).Edit()
	var h restrict.Hasher
	put := func(p place, d restrict.Digest) { e.Put(p.table, p.key, d) }
	keys := map[question]string{}
	all := func(r row) error { put(r.place(), r.content(&h)); return nil }
	for sql, read := range map[string]func(pgx.Rows) error{
		allLatches: reading(func(r *latchRow) error { return all(r) }),
		allLeases:  reading(func(r *leaseRow) error { return all(r) }),
		allRuns:    reading(func(r *runRow) error { return all(r) }),
		allValues:  reading(func(r *stateRow) error { return all(r) }),
		allApprovals: reading(func(r *approvalRow) error {
			q := question{approvals.Kind(r.kind), string(r.key)}
			keys[q] = max(keys[q], string(r.id))
			return all(r)
		}),
		allCompactions: func(rows pgx.Rows) error {
			for rows.Next() {
				var k int32
				var through, announced int64
				if err := rows.Scan(&k, &through, &announced); err != nil {
					return err
				}
				put(compactionPlace(k), intContent(&h, through, announced))
			}
			return rows.Err()
		},
	} {
		rows, err := q.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		err = read(rows)
		rows.Close()
		if err != nil {
			return nil, err
		}
	}
	for q, id := range keys {
		put(keyPlace(q.kind, q.key), keyContent(&h, id))
	}
	put(clockPlace(), intContent(&h, now.wall))
	put(versionPlace(), intContent(&h, now.stateVersion))
	return e.Set(), nil
}
