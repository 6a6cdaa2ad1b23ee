package sqlite

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
)

func conflict(what string) error { return fmt.Errorf("sqlite store: %w: %s", kernel.ErrConflict, what) }

// writeBatch checks and writes one batch, but for its events. set is the rows that restrict, as they
// are: where it has none, no statement looks for one.
func writeBatch(c *conn, set *restrict.Set, b *kernel.Batch) error {
	if err := check(c, set, b); err != nil {
		return err
	}
	if err := writeLeases(c, b.Leases); err != nil { // first: most that conflict have written nothing then
		return err
	}
	if err := writeRun(c, set, b); err != nil {
		return err
	}
	for _, sw := range b.StateWrites {
		if err := writeState(c, sw); err != nil {
			return err
		}
	}
	if err := writeLatch(c, b); err != nil {
		return err
	}
	if err := writeApprovals(c, b.Approvals); err != nil {
		return err
	}
	if len(b.Events) == 0 {
		return nil // a time that no event records does not count
	}
	return seen(c, b.Now)
}

// check refuses a batch that was computed from rows that have changed since.
func check(c *conn, set *restrict.Set, b *kernel.Batch) error {
	if k := b.Unlatched; k != nil && (has(set, restrict.Latches, k.Runtime, k.Session) ||
		has(set, restrict.Latches, k.Runtime, "")) {
		latched := false
		err := c.query("SELECT body FROM latches WHERE runtime=? AND session IN (?, '')", func(st *sqlite3.Stmt) error {
			var l kernel.Latch
			err := json.Unmarshal(st.ColumnBlob(0, nil), &l)
			latched = latched || err != nil || l.Holds(*k)
			return err
		}, k.Runtime, k.Session)
		if err != nil {
			return err
		}
		if latched {
			return conflict("session latched")
		}
	}
	for _, r := range b.StateReads {
		var version int64
		err := c.query("SELECT version FROM state WHERE namespace=? AND key=?", func(st *sqlite3.Stmt) error {
			version = st.ColumnInt64(0)
			return nil
		}, r.Namespace, r.Key)
		if err != nil {
			return err
		}
		if version != r.Version {
			return conflict("hook state")
		}
	}
	return nil
}

func writeState(c *conn, w kernel.StateWrite) error {
	c.touch(restrict.State, w.Namespace, w.Key)
	if w.Delete {
		return c.exec("DELETE FROM state WHERE namespace=? AND key=?", w.Namespace, w.Key)
	}
	c.touch(restrict.StateVersion)
	if err := c.exec("UPDATE state_version SET version = version + 1"); err != nil {
		return err
	}
	return c.exec(`INSERT INTO state (namespace, key, version, value) VALUES (?, ?, (SELECT version FROM state_version), ?)
		ON CONFLICT DO UPDATE SET version = excluded.version, value = excluded.value`, w.Namespace, w.Key, w.Value)
}

func has(set *restrict.Set, t restrict.Table, key ...string) bool {
	_, ok := set.Get(t, restrict.Key(key...))
	return ok
}

func writeRun(c *conn, set *restrict.Set, b *kernel.Batch) error {
	runs := b.Runs()
	for _, r := range runs {
		var version int64
		err := c.query("SELECT version FROM runs WHERE runtime=? AND session=? AND run=?", func(st *sqlite3.Stmt) error {
			version = st.ColumnInt64(0)
			return nil
		}, r.Key.Runtime, r.Key.Session, r.Key.Run)
		if err != nil {
			return err
		}
		if version != r.Version {
			return conflict("run metadata")
		}
		metadata, err := json.Marshal(r.Metadata, json.Deterministic(true))
		if err != nil {
			return err
		}
		c.touch(restrict.Runs, r.Key.Runtime, r.Key.Session, r.Key.Run)
		retries, err := json.Marshal(r.Retries, json.Deterministic(true))
		if err != nil {
			return err
		}
		err = c.exec(
			`INSERT INTO runs (runtime, session, run, version, used_ns, metadata, retries) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET version=excluded.version, used_ns=excluded.used_ns, metadata=excluded.metadata, retries=excluded.retries`,
			r.Key.Runtime, r.Key.Session, r.Key.Run, version+1, b.Age(), metadata, retries)
		if err != nil {
			return err
		}
	}
	if k := b.TouchRun; k != nil && (len(runs) > 0 || has(set, restrict.Runs, k.Runtime, k.Session, k.Run)) {
		c.touch(restrict.Runs, k.Runtime, k.Session, k.Run)
		// An expired run stays expired: using it must not bring its contents back.
		return c.exec("UPDATE runs SET used_ns=? WHERE runtime=? AND session=? AND run=? AND used_ns<? AND used_ns>=?",
			b.Age(), k.Runtime, k.Session, k.Run, b.Age(), b.Age().Add(-kernel.MetadataTTL))
	}
	return nil
}

func writeLatch(c *conn, b *kernel.Batch) error {
	if k := b.ClearLatch; k != nil {
		old, err := c.latchOf(*k)
		if err != nil {
			return err
		}
		if old == nil || b.ClearOf != "" && !old.EndsItself(b.ClearOf) {
			return conflict("no such latch")
		}
		c.touch(restrict.Latches, k.Runtime, k.Session)
		if err := c.exec("DELETE FROM latches WHERE runtime=? AND session=?", k.Runtime, k.Session); err != nil {
			return err
		}
	}
	if b.Latch != nil {
		c.touch(restrict.Latches, b.Latch.Runtime, b.Latch.Session)
		return insertLatch(c, *b.Latch)
	}
	return nil
}

// insertLatch stores a latch, unless there is one already that it does not replace; see
// kernel.Latch.Replaces.
func insertLatch(c *conn, l kernel.Latch) error {
	old, err := c.latchOf(l.Key())
	if err != nil || !l.Replaces(old) {
		return err
	}
	l.Since = l.Since.UTC().Round(0)
	body, err := json.Marshal(&l)
	if err != nil {
		return err
	}
	return c.exec(`INSERT INTO latches (runtime, session, since_ns, body) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET since_ns=excluded.since_ns, body=excluded.body`, l.Runtime, l.Session, l.Since, body)
}

// latchOf returns the latch of the key, or nil.
func (c *conn) latchOf(k wire.Session) (l *kernel.Latch, err error) {
	err = c.query("SELECT body FROM latches WHERE runtime=? AND session=?", func(st *sqlite3.Stmt) error {
		l = new(kernel.Latch)
		return json.Unmarshal(st.ColumnBlob(0, nil), l)
	}, k.Runtime, k.Session)
	return l, err
}
