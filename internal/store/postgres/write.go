package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errOvertaken: a row is not any more as it was read, although no other kernel may change it. Nothing was written.
func errOvertaken(p place) error {
	return fmt.Errorf("%w: %s %s", overtaken(), p.table, p.key)
}

// overtakenError is a class of errors for errors.Is.
type overtakenError struct{}

func (overtakenError) Error() string { return "a row that restricts was changed by another hand" }

func overtaken() error { return overtakenError{} }

// The statements that change rows. Each holds only for the row as it was read.
const (
	insertLatch = "INSERT INTO latches (runtime, session, since_ns, body) VALUES ($1, $2, $3, $4)"
	updateLatch = "UPDATE latches SET since_ns = $3, body = $4 WHERE runtime = $1 AND session = $2 AND body = $5"
	deleteLatch = "DELETE FROM latches WHERE runtime = $1 AND session = $2 AND body = $3"
	insertRun   = "INSERT INTO runs (runtime, session, run, version, used_ns, metadata, retries) " +
		"VALUES ($1, $2, $3, $4, $5, $6, $7)"
	updateRun = "UPDATE runs SET version = $4, used_ns = $5, metadata = $6, retries = $7 " +
		"WHERE runtime = $1 AND session = $2 AND run = $3 AND version = $8 AND used_ns = $9"
	deleteRun      = "DELETE FROM runs WHERE runtime = $1 AND session = $2 AND run = $3 AND version = $4 AND used_ns = $5"
	insertValue    = "INSERT INTO state (namespace, key, version, value) VALUES ($1, $2, $3, $4)"
	updateValue    = "UPDATE state SET version = $3, value = $4 WHERE namespace = $1 AND key = $2 AND version = $5"
	deleteValue    = "DELETE FROM state WHERE namespace = $1 AND key = $2 AND version = $3"
	insertApproval = "INSERT INTO approvals (id, kind, key, state, credential, runtime, session, agent, ends_ns, body) " +
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
	updateApproval = "UPDATE approvals SET state = $2, ends_ns = $3, body = $4 " +
		"WHERE id = $1 AND state = $5 AND ends_ns = $6"
	deleteApproval = "DELETE FROM approvals WHERE id = $1 AND state = $2 AND ends_ns = $3"
	insertLease    = "INSERT INTO leases (id, parent, depth, runtime, session, agent, credential, state, uses, " +
		"max_uses, not_before_ns, expires_ns, boot, boot_from_ns, boot_until_ns, token, body) " +
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
	updateLease = "UPDATE leases SET state = $2, uses = $3, expires_ns = $4, boot = $5, boot_from_ns = $6, " +
		"boot_until_ns = $7 WHERE id = $1 AND state = $8 AND uses = $9 AND expires_ns = $10 AND $3 <= max_uses"
	deleteLease = "DELETE FROM leases WHERE id = $1 AND state = $2 AND uses = $3"
)

// writes queues the statements that make the rows of the database those of the world. Each calls off the transaction
// when it does not change exactly one row.
func (w *world) writes(b *pgx.Batch) {
	for p, r := range w.now {
		old := w.found[p]
		if old == r {
			continue
		}
		sql, args := statement(old, r)
		b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() != 1 {
				return errOvertaken(p)
			}
			return nil
		})
	}
}

// statement makes a row of another; nil is none.
func statement(old, r row) (sql string, args []any) {
	of := r
	if r == nil {
		of = old
	}
	switch of.(type) {
	case *latchRow:
		return latchStatement(as[latchRow](old), as[latchRow](r))
	case *runRow:
		return runStatement(as[runRow](old), as[runRow](r))
	case *stateRow:
		return valueStatement(as[stateRow](old), as[stateRow](r))
	case *approvalRow:
		return approvalStatement(as[approvalRow](old), as[approvalRow](r))
	}
	return leaseStatement(as[leaseRow](old), as[leaseRow](r))
}

func as[T any, P interface {
	*T
	row
}](r row) P {
	p, _ := r.(P)
	return p
}

func latchStatement(old, r *latchRow) (string, []any) {
	switch {
	case r == nil:
		return deleteLatch, []any{old.runtime, old.session, old.body}
	case old == nil:
		return insertLatch, []any{r.runtime, r.session, r.since, r.body}
	}
	return updateLatch, []any{r.runtime, r.session, r.since, r.body, old.body}
}

func runStatement(old, r *runRow) (string, []any) {
	switch {
	case r == nil:
		return deleteRun, []any{old.runtime, old.session, old.run, old.version, old.used}
	case old == nil:
		return insertRun, []any{r.runtime, r.session, r.run, r.version, r.used, r.metadata, r.retries}
	}
	return updateRun, []any{r.runtime, r.session, r.run, r.version, r.used, r.metadata, r.retries, old.version, old.used}
}

func valueStatement(old, r *stateRow) (string, []any) {
	switch {
	case r == nil:
		return deleteValue, []any{old.namespace, old.key, old.version}
	case old == nil:
		return insertValue, []any{r.namespace, r.key, r.version, r.value}
	}
	return updateValue, []any{r.namespace, r.key, r.version, r.value, old.version}
}

func approvalStatement(old, r *approvalRow) (string, []any) {
	switch {
	case r == nil:
		return deleteApproval, []any{old.id, old.state, old.ends}
	case old == nil:
		return insertApproval, []any{r.id, r.kind, r.key, r.state, r.credential, r.runtime, r.session, r.agent,
			r.ends, r.body}
	}
	return updateApproval, []any{r.id, r.state, r.ends, r.body, old.state, old.ends}
}

func leaseStatement(old, r *leaseRow) (string, []any) {
	switch {
	case r == nil:
		return deleteLease, []any{old.id, old.state, old.uses}
	case old == nil:
		return insertLease, []any{r.id, r.parent, r.depth, r.runtime, r.session, r.agent, r.credential, r.state, r.uses,
			r.max, r.notBefore, r.expires, r.boot, r.bootFrom, r.bootUntil, r.token, r.body}
	}
	return updateLease, []any{r.id, r.state, r.uses, r.expires, r.boot, r.bootFrom, r.bootUntil, old.state, old.uses,
		old.expires}
}

// The ways in which the functions of the schema refuse; see the migrations.
const (
	codeFenced   = "BL001" // another process has the kernel's name
	codeHeld     = "BL002" // another process holds it
	codeOwner    = "BL003" // it belongs to another role
	codeOtherKey = "BL006" // its log is signed by another key
	codeStale    = "BL005" // rows that restrict have changed
	codeNames    = "BL012" // its role has as many names as it can
	codeBehind   = "BL007" // the log is shorter than it was
	codeForked   = "BL008" // the log holds something else
	codeNoPlace  = "23514" // an event has no partition
	codeUnique   = "23505" // a key is taken
)

// refusal returns the code of an error of PostgreSQL, or "".
func refusal(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// passing reports whether an error undid a transaction that may well succeed when it is tried again.
func passing(err error) bool {
	switch refusal(err) {
	case "40001", "40P01", codeStale, codeNoPlace:
		return true
	case codeUnique:
		var e *pgconn.PgError
		// That is an event's id, which stays taken.
		return errors.As(err, &e) && !strings.HasPrefix(e.TableName, "events_") && e.TableName != "once"
	}
	return errors.Is(err, overtaken()) || errors.Is(err, errGap())
}
