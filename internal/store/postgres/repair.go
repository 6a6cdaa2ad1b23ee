package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/leaf"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// recoverIdle is how long the server waits for this process within a recovery, which reads all logs meanwhile.
const recoverIdle = 30 * time.Minute

// ownerError says what no kernel may set right. It is kernel.ErrTampered.
type ownerError struct{ what, sql string }

func (e *ownerError) Error() string {
	return e.what + ", and no kernel may write that: the owner of the schema sets it right by `" + e.sql + "`"
}

func (*ownerError) Unwrap() error { return kernel.ErrTampered }

// OwnerMends reports whether an error says what only the owner of the schema can set right, with the statement.
func OwnerMends(err error) bool {
	_, is := errors.AsType[*ownerError](err)
	return is
}

// ownerMends returns the error of what only the owner of the schema can set right.
func ownerMends(sql, what string, args ...any) error {
	return marked.Refused(&ownerError{fmt.Sprintf(what, args...), sql})
}

// table returns the name of a table as any session of the server knows it.
func (w *writer) table(name string) string { return quoted(w.store.o.Schema, name) }

// lookAtAll begins a transaction, makes it the only one that changes rows that restrict, and reads all of them without
// believing them. No other process can take the kernel's name until it ends.
func (w *writer) lookAtAll(ctx context.Context) (*world, *shared, error) {
	for _, sql := range []string{"BEGIN", "SET LOCAL idle_in_transaction_session_timeout = " + milliseconds(recoverIdle)} {
		if _, err := w.conn.Exec(ctx, sql); err != nil {
			return nil, nil, err
		}
	}
	now, err := w.lockOne(ctx)
	if err != nil {
		return nil, nil, err
	}
	h := &w.held
	if _, err := w.conn.Exec(ctx, "SELECT set_mark($1, $2, $3)", h.kernel, h.fence, w.guarded.store); err != nil {
		return nil, nil, err
	}
	set, err := loadRows(ctx, w.conn, now)
	if err != nil {
		return nil, nil, err
	}
	own := single{wall: now.wall, version: now.stateVersion}
	err = w.conn.QueryRow(ctx, compactionStored, w.held.kernel).Scan(&own.through, &own.announced)
	if err != nil {
		return nil, nil, err
	}
	world := newWorld(w.held.kernel, set, own)
	world.before = own
	b := &pgx.Batch{}
	(&needs{everything: true}).queue(b, world)
	return world, now, w.conn.SendBatch(ctx, b).Close()
}

// lockOne locks the row shared, of which there has to be one, whose version is that of the newest change.
func (w *writer) lockOne(ctx context.Context) (*shared, error) {
	var newest int64
	if err := w.conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM changes").Scan(&newest); err != nil {
		return nil, err
	}
	rows, err := w.conn.Query(ctx, "SELECT "+sharedColumns+" FROM lock_shared() s")
	if err != nil {
		return nil, err
	}
	var now shared
	n := 0
	if _, err := pgx.ForEachRow(rows, now.fields(), func() error { n++; return nil }); err != nil {
		return nil, err
	}
	switch {
	case n != 1:
		return nil, ownerMends(fmt.Sprintf("DELETE FROM %[1]s; INSERT INTO %[1]s VALUES (%[2]d, '', 0, 0, 0, 0, 0)",
			w.table("shared"), newest), "the table shared has %d rows, and not one", n)
	case now.version < newest:
		return nil, ownerMends(fmt.Sprintf("UPDATE %s SET version = %d", w.table("shared"), newest),
			"the row shared is of version %d, and version %d was written", now.version, newest)
	}
	return &now, nil
}

// doubted says how the rows differ from what the log records, and which tables a repair is about. nil: they do not.
func (w *writer) doubted(ctx context.Context, world *world, now *shared) (*marked.Repair, []restrict.Table, error) {
	err := recorded(world.set, now)
	if err == nil {
		err = vouch(ctx, w.conn, now)
	}
	if err == nil || tamperedOf(err) == nil {
		return nil, nil, err
	}
	found := world.set.Root()
	out := &marked.Repair{Found: found.String()}
	differ := restrict.Tables()
	switch stamp, known, err := w.stamped(ctx, now); {
	case err != nil:
		return nil, nil, err
	case !known:
		out.AddAccepted("the event that recorded the rows is not the one that was recorded: which rows were changed is not " +
			"known")
	case stamp == found: // what names the event was changed alone
		out.Recorded, differ = stamp.String(), nil
	default:
		out.Recorded = stamp.String()
		node := now.tables
		if now.version == 0 {
			node = freshSet().Node()
		}
		if root, ok := restrict.RootOf(node); ok && root == stamp {
			differ = world.set.Differ(node)
		}
	}
	for _, t := range differ {
		out.Tables = append(out.Tables, t.String())
	}
	if len(differ) == 0 {
		out.Tables = []string{"shared"}
	}
	return out, differ, nil
}

// stamped returns the digest of the rows that the event records which the row shared names; known is false when it is
// not the one of the tree, or records none.
func (w *writer) stamped(ctx context.Context, now *shared) (stamp restrict.Digest, known bool, err error) {
	switch {
	case now.version == 0:
		return freshSet().Root(), true, nil
	case now.version < 0 || now.seq <= 0 || now.leaf != tlog.StoredHashIndex(0, now.seq-1):
		return stamp, false, nil
	}
	body, hash, err := recording(ctx, w.conn, now)
	if err != nil || hash == nil || tlog.RecordHash(body) != *hash {
		return stamp, false, err
	}
	stamp, known = leaf.SharedStampOf(body)
	return stamp, known, nil
}

// repairer makes rows harmless that are not those that the log records.
type repairer struct {
	*writer
	world  *world
	step   *step // takes what changes
	advice marked.Advice
	now    time.Time
	out    *marked.Repair
	events []phases.Event // about single items
}

// repair returns what becomes of the rows in tables that differ, and the events that say so of single items.
func (w *writer) repair(ctx context.Context, world *world, out *marked.Repair, differ []restrict.Table,
	advise func() (marked.Advice, error)) (*step, []phases.Event, error) {
	r := &repairer{writer: w, world: world, step: world.blank(), now: time.Now(), out: out}
	r.step.queue, r.step.leases = maps.Clone(world.queue), world.leases.Clone()
	if len(differ) == 0 {
		return r.step, nil, nil
	}
	var err error
	if r.advice, err = advise(); err != nil {
		return nil, nil, marked.Refused(err)
	}
	for _, d := range r.advice.Doubts {
		out.AddAccepted("of the logs: %s; what it said cannot be known", d)
	}
	for _, part := range []struct {
		tables []restrict.Table
		mend   func(context.Context) error
	}{
		{[]restrict.Table{restrict.Compaction}, r.compaction}, // first: it may refuse
		{[]restrict.Table{restrict.Latches}, r.latches},
		{[]restrict.Table{restrict.Approvals, restrict.ApprovalKeys}, r.approvals},
		{[]restrict.Table{restrict.Leases}, r.leases},
		{[]restrict.Table{restrict.LeaseClock}, r.leaseClock},
		{[]restrict.Table{restrict.Runs}, r.runs},
		{[]restrict.Table{restrict.State}, r.state},
		{[]restrict.Table{restrict.StateVersion}, r.stateVersion},
	} {
		if slices.ContainsFunc(part.tables, func(t restrict.Table) bool { return slices.Contains(differ, t) }) {
			if err := part.mend(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
	out.Bound()
	return r.step, r.events, nil
}

// highest is a time, in ns, that no honest value of this database has reached: not a clock, and not a count of writes.
func (r *repairer) highest() int64 { return max(r.now.UnixNano(), r.advice.Newest.UnixNano()) }

func (r *repairer) leaseClock(context.Context) error {
	r.step.single.wall = r.highest()
	r.out.AddRebuilt("the highest wall time seen: %s", time.Unix(0, r.step.single.wall).UTC().Format(time.RFC3339))
	return nil
}

const compactionsByName = "SELECT name, through, announced FROM kernels ORDER BY id"

// compaction compares what is stored of compactions with what the signed statements in the logs say. Only the owner of
// the schema can have changed it, and only the owner can change it back.
func (r *repairer) compaction(ctx context.Context) error {
	rows, err := r.conn.Query(ctx, compactionsByName)
	if err != nil {
		return err
	}
	var name string
	var through, announced int64
	_, err = pgx.ForEachRow(rows, []any{&name, &through, &announced}, func() error {
		want, known := r.advice.Compactions[name]
		if !known || !miscompacted(want, through, announced) {
			return nil
		}
		sql := fmt.Sprintf("UPDATE %s SET through = %d, announced = %d WHERE name = '%s'", r.table("kernels"), want.Through,
			want.Event, strings.ReplaceAll(name, "'", "''"))
		return ownerMends(sql, "the compaction of kernel %s is stored as up to event %d, and its log says %d", name, through,
			want.Through)
	})
	if err == nil {
		r.out.AddAccepted("what was compacted, as the logs say")
	}
	return err
}

// miscompacted reports whether a row says something else of a compaction than the log.
func miscompacted(want marked.Compaction, through, announced int64) bool {
	kept := want.Apart && through == 0 && announced == 0 // the database has all of the log
	return !kept && (want.Through != through || want.Event != announced)
}
