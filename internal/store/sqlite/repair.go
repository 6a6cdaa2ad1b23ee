package sqlite

import (
	"errors"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// repairer makes one marked.Repair.
type repairer struct {
	*conn
	advice marked.Advice
	now    time.Time
	differ []restrict.Table
	out    *marked.Repair
	steps  []phases.Event
}

func (r *repairer) rebuilt(format string, args ...any)  { r.out.AddRebuilt(format, args...) }
func (r *repairer) revoked(format string, args ...any)  { r.out.AddRevoked(format, args...) }
func (r *repairer) accepted(format string, args ...any) { r.out.AddAccepted(format, args...) }

// repair makes rows harmless that are not those that the log records, inside of the write
// transaction. It returns the events that say so of single items; the caller writes them
// after that of the recovery, which is the first that covers the rows.
func (w *writer) repair(r *marked.Plan) (*marked.Repair, []phases.Event, error) {
	out := &marked.Repair{}
	dropped, err := w.store.mendSchema(w.conn)
	if err != nil {
		return nil, nil, err
	}
	rec, err := recordedAt(w.conn, w.edge.size)
	known := err == nil
	if err != nil && !errors.Is(err, kernel.ErrTampered) {
		return nil, nil, err
	}
	found, err := loadRows(w.conn)
	if err != nil {
		return nil, nil, err
	}
	out.Found = found.Root().String()
	p := &repairer{conn: w.conn, out: out, now: time.Now(), differ: restrict.Tables()}
	switch {
	case known && rec.adopted:
		out.Recorded = rec.root.String()
		if found.Root() == rec.root {
			p.differ = nil // the schema alone
		} else if rec.node != nil {
			p.differ = found.Differ(rec.node)
		}
	case known:
		p.differ = nil // nothing is recorded yet
	}
	if len(dropped) > 0 {
		out.Tables = append(out.Tables, "sqlite_schema")
	}
	for _, t := range p.differ {
		out.Tables = append(out.Tables, t.String())
	}
	if len(p.differ) > 0 {
		if p.advice, err = r.Advise(); err != nil {
			return nil, nil, marked.Refused(err)
		}
		if err := p.tables(); err != nil {
			return nil, nil, err
		}
	}
	for _, what := range dropped {
		p.revoked("%s", what)
	}
	if !known {
		p.accepted("the newest event is not the one that was recorded: which rows were changed is not known")
	}
	out.Bound()
	if err := oneRestrictions(w.conn, w.edge.size); err != nil {
		return nil, nil, err
	}
	w.conn.touched, w.conn.seen = w.conn.touched[:0], 0
	if w.set, err = loadRows(w.conn); err != nil {
		return nil, nil, err
	}
	// Not what this connection knows of the database until it is durable: see rows.
	w.found, w.wrong, w.version = head{seq: w.edge.size}, nil, unknownVersion
	return out, p.steps, nil
}

// oneRestrictions gives the table restrictions its one row, if that is gone.
func oneRestrictions(c *conn, size int64) error {
	rows := 0
	err := c.query("SELECT 1 FROM restrictions", func(*sqlite3.Stmt) error { rows++; return nil })
	if err != nil || rows == 1 {
		return err
	}
	if err := c.exec("DELETE FROM restrictions"); err != nil {
		return err
	}
	return c.exec("INSERT INTO restrictions VALUES (?, x'', 0)", size+1)
}

func (r *repairer) differs(t ...restrict.Table) bool {
	return slices.ContainsFunc(t, func(t restrict.Table) bool { return slices.Contains(r.differ, t) })
}

// tables repairs each table that differs.
func (r *repairer) tables() error {
	for _, d := range r.advice.Doubts {
		r.accepted("of the log: %s; what it said cannot be known", d)
	}
	for _, part := range []struct {
		tables []restrict.Table
		mend   func() error
	}{
		{[]restrict.Table{restrict.Latches}, r.latches},
		{[]restrict.Table{restrict.Approvals, restrict.ApprovalKeys}, r.approvals},
		{[]restrict.Table{restrict.Leases}, r.leases},
		{[]restrict.Table{restrict.LeaseClock}, r.leaseClock},
		{[]restrict.Table{restrict.Runs}, r.runs},
		{[]restrict.Table{restrict.State, restrict.StateVersion}, r.state},
		{[]restrict.Table{restrict.Compaction}, r.compaction},
	} {
		if r.differs(part.tables...) {
			if err := part.mend(); err != nil {
				return err
			}
		}
	}
	return nil
}

// one gives a table with one row that row.
func (r *repairer) one(table string, values ...any) error {
	if err := r.exec("DELETE FROM " + table); err != nil {
		return err
	}
	sql := "INSERT INTO " + table + " VALUES (?"
	for range len(values) - 1 {
		sql += ", ?"
	}
	return r.exec(sql+")", values...)
}

// highest is a time, in ns, that no honest value of this database has reached: not a clock,
// and not a count of writes.
func (r *repairer) highest() int64 { return max(r.now.UnixNano(), r.advice.Newest.UnixNano()) }

func (r *repairer) leaseClock() error {
	at := time.Unix(0, r.highest()).UTC()
	r.rebuilt("the highest wall time seen: %s", at.Format(time.RFC3339))
	return r.one("lease_clock", at)
}

func (r *repairer) compaction() error {
	c := r.advice.Compacted
	r.rebuilt("what was compacted: events up to %d", c.Through)
	return r.one("compaction", c.Through, c.Event)
}
