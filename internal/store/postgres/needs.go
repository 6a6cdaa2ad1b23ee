package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// needs are the rows that batches are decided by. Slices of one group are the columns of a key.
type needs struct {
	latchRuntimes, latchSessions   [][]byte
	runRuntimes, runSessions, runs [][]byte
	namespaces, keys               [][]byte
	approvalIDs                    [][]byte
	questionKinds, questionKeys    [][]byte
	ownerCredentials, ownerKinds   [][]byte
	supersedes                     bool
	leaseIDs, tokens, credentials  [][]byte
	leasesFrom, leasesTo           [][]byte
	pruneRuns, prune, pruneLeases  int64 // what was last used, ended or expired before these goes
	prunes                         bool
	inForce                        bool    // every approval and every lease that counts
	everything                     bool    // all rows, of which nothing is believed
	exacts                         []place // rows that are asked for by their keys
}

// of adds what a batch needs.
func (n *needs) of(b *kernel.Batch) {
	for _, k := range []*wire.Session{b.Unlatched, b.ClearLatch} {
		if k != nil {
			n.latch(k.Runtime, k.Session)
			n.latch(k.Runtime, "")
		}
	}
	if b.Latch != nil {
		n.latch(b.Latch.Runtime, b.Latch.Session)
	}
	for _, r := range b.Runs() {
		n.run(r.Key)
	}
	if b.TouchRun != nil {
		n.run(*b.TouchRun)
	}
	for _, r := range b.StateReads {
		n.value(r.Namespace, r.Key)
	}
	for _, w := range b.StateWrites {
		n.value(w.Namespace, w.Key)
	}
	for i := range b.Approvals {
		n.approval(&b.Approvals[i])
	}
	for i := range b.Leases {
		n.lease(&b.Leases[i])
	}
	if b.Prune {
		age := b.Age()
		n.prunes = true
		n.pruneRuns, n.prune = age.Add(-kernel.MetadataTTL).UnixNano(), age.Add(-approvals.KeepClosed).UnixNano()
		n.pruneLeases = age.Add(-leases.Retention).UnixNano()
	}
}

func (n *needs) latch(runtime, session string) {
	n.latchRuntimes, n.latchSessions = append(n.latchRuntimes, []byte(runtime)), append(n.latchSessions, []byte(session))
	n.exacts = append(n.exacts, place{restrict.Latches, restrict.Key(runtime, session)})
}

func (n *needs) run(k phases.RunKey) {
	n.runRuntimes, n.runSessions = append(n.runRuntimes, []byte(k.Runtime)), append(n.runSessions, []byte(k.Session))
	n.runs = append(n.runs, []byte(k.Run))
	n.exacts = append(n.exacts, runPlace(k))
}

func (n *needs) value(namespace, key string) {
	n.namespaces, n.keys = append(n.namespaces, []byte(namespace)), append(n.keys, []byte(key))
	n.exacts = append(n.exacts, statePlace(namespace, key))
}

func (n *needs) approval(op *approvals.Op) {
	id := ""
	if it := op.Create; it != nil {
		id = it.ID
		n.questionKinds, n.questionKeys = append(n.questionKinds, []byte(it.Kind)), append(n.questionKeys, []byte(it.Key))
		n.ownerCredentials = append(n.ownerCredentials, []byte(it.By.Credential))
		n.ownerKinds = append(n.ownerKinds, []byte(it.Kind))
	} else {
		id = op.Change.ID
		n.supersedes = n.supersedes || op.Change.To == approvals.Superseded
	}
	n.approvalIDs = append(n.approvalIDs, []byte(id))
	n.exacts = append(n.exacts, place{restrict.Approvals, restrict.Key(id)})
}

func (n *needs) lease(op *leases.Op) {
	id := op.ID
	if op.Kind == leases.OpMint {
		id = op.Lease.ID
		n.tokens = append(n.tokens, op.Lease.Token)
		if c := op.Lease.Holder.Credential; c != "" {
			n.credentials = append(n.credentials, []byte(c))
		}
	}
	for _, p := range append(leases.Prefixes(id), id) {
		n.leaseIDs = append(n.leaseIDs, []byte(p))
		n.exacts = append(n.exacts, leasePlace(p))
	}
	switch op.Kind {
	case leases.OpMint, leases.OpRevoke, leases.OpRevokePrefix:
		from, to := below(id)
		n.leasesFrom, n.leasesTo = append(n.leasesFrom, from), append(n.leasesTo, to)
	}
}

// below returns the bounds of the ids below a prefix: '0' comes after '/'.
func below(prefix string) (from, to []byte) { return []byte(prefix + "/"), []byte(prefix + "0") }

// The statements that read what a group needs. Each finds its rows by an index.
const (
	latchesByKey = "SELECT " + latchColumns + " FROM unnest($1::bytea[], $2::bytea[]) u (runtime, session) " +
		"JOIN latches l USING (runtime, session)"
	runsByKey = "SELECT " + runColumns + " FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) u (runtime, session, run) " +
		"JOIN runs r USING (runtime, session, run)"
	valuesByKey = "SELECT " + stateColumns + " FROM unnest($1::bytea[], $2::bytea[]) u (namespace, key) " +
		"JOIN state s USING (namespace, key)"
	approvalsByID  = "SELECT " + approvalColumns + " FROM approvals a WHERE a.id = ANY ($1::bytea[])"
	approvalsByKey = "SELECT " + approvalColumns + " FROM unnest($1::bytea[], $2::bytea[]) u (kind, key) " +
		"CROSS JOIN LATERAL (SELECT * FROM approvals b WHERE b.kind = u.kind AND b.key = u.key ORDER BY b.id DESC LIMIT 1) a"
	pendingByOwner = "SELECT " + approvalColumns + " FROM approvals a WHERE (a.credential, a.kind) IN " +
		"(SELECT * FROM unnest($1::bytea[], $2::bytea[])) AND a.state = 'pending'"
	supersededOfOwners = "(SELECT b.credential, b.kind FROM approvals b WHERE b.id = ANY ($1::bytea[]) " +
		"UNION SELECT * FROM unnest($2::bytea[], $3::bytea[]))"
	supersededByOwner = "SELECT " + approvalColumns + " FROM approvals a WHERE (a.credential, a.kind) IN " +
		supersededOfOwners + " AND a.state = 'superseded'"
	siblingsOfSuperseded = "SELECT s.kind, s.key, s.id FROM approvals s WHERE (s.kind, s.key) IN (SELECT a.kind, a.key " +
		"FROM approvals a WHERE (a.credential, a.kind) IN " + supersededOfOwners + " AND a.state = 'superseded')"
	closedApprovals = "a.state = ANY ('{denied,expired,superseded,consumed}') AND a.ends_ns < $1"
	approvalsToGo   = "SELECT " + approvalColumns + " FROM approvals a WHERE " + closedApprovals
	siblingsToGo    = "SELECT s.kind, s.key, s.id FROM approvals s WHERE (s.kind, s.key) IN (SELECT a.kind, a.key " +
		"FROM approvals a WHERE " + closedApprovals + ")"
	leasesByID    = "SELECT " + leaseColumns + " FROM leases l WHERE l.id = ANY ($1::bytea[])"
	leasesByToken = "SELECT " + leaseColumns + " FROM leases l WHERE l.token = ANY ($1::bytea[])"
	leasesBelow   = "SELECT " + leaseColumns + " FROM unnest($1::bytea[], $2::bytea[]) u (low, high) " +
		"JOIN leases l ON l.id > u.low AND l.id < u.high"
	leasesOfCredential = "SELECT " + leaseColumns +
		" FROM leases l WHERE l.credential = ANY ($1::bytea[]) AND l.state = 'active'"
	leasesToGo       = "SELECT " + leaseColumns + " FROM leases l WHERE l.expires_ns < $1"
	approvalsInForce = "SELECT " + approvalColumns + " FROM approvals a WHERE a.state = 'approved'"
	leasesInForce    = "SELECT " + leaseColumns + " FROM leases l WHERE l.state = 'active'"
	runsToGo         = "SELECT " + runColumns + " FROM runs r WHERE r.used_ns < $1"
)

// queue puts the statements that read the rows into a batch, for a world.
func (n *needs) queue(b *pgx.Batch, w *world) {
	ask := func(wanted int, sql string, read func(pgx.Rows) error, args ...any) {
		if wanted > 0 {
			b.Queue(sql, args...).Query(read)
		}
	}
	ask(len(n.latchRuntimes), latchesByKey, reading(w.addLatch), n.latchRuntimes, n.latchSessions)
	ask(len(n.runs), runsByKey, reading(w.addRun), n.runRuntimes, n.runSessions, n.runs)
	ask(len(n.keys), valuesByKey, reading(w.addValue), n.namespaces, n.keys)
	ask(len(n.approvalIDs), approvalsByID, reading(w.addApproval), n.approvalIDs)
	ask(len(n.questionKeys), approvalsByKey, reading(w.addApproval), n.questionKinds, n.questionKeys)
	ask(len(n.ownerKinds), pendingByOwner, reading(w.addApproval), n.ownerCredentials, n.ownerKinds)
	if n.supersedes {
		ask(1, supersededByOwner, reading(w.addApproval), n.approvalIDs, n.ownerCredentials, n.ownerKinds)
		ask(1, siblingsOfSuperseded, w.addSiblings, n.approvalIDs, n.ownerCredentials, n.ownerKinds)
	}
	ask(len(n.leaseIDs), leasesByID, reading(w.addLease), n.leaseIDs)
	ask(len(n.tokens), leasesByToken, reading(w.addLease), n.tokens)
	ask(len(n.leasesFrom), leasesBelow, reading(w.addLease), n.leasesFrom, n.leasesTo)
	ask(len(n.credentials), leasesOfCredential, reading(w.addLease), n.credentials)
	if n.inForce {
		ask(1, approvalsInForce, reading(w.addApproval))
		ask(1, leasesInForce, reading(w.addLease))
	}
	if n.everything {
		ask(1, allLatches, reading(w.addLatch))
		ask(1, allApprovals, reading(w.addApproval))
		ask(1, allLeases, reading(w.addFoundLease))
		ask(1, allRuns, reading(w.addRun))
		ask(1, allValues, reading(w.addValue))
	}
	if n.prunes {
		ask(1, runsToGo, reading(w.addRun), n.pruneRuns)
		ask(1, approvalsToGo, reading(w.addApproval), n.prune)
		ask(1, siblingsToGo, w.addSiblings, n.prune)
		ask(1, leasesToGo, reading(w.addLease), n.pruneLeases)
	}
}

// scanned is a kind of row that can be read.
type scanned[T any] interface {
	*T
	row
	fields() []any
}

// reading returns a function that hands over rows one by one.
func reading[T any, P scanned[T]](take func(P) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			r := P(new(T))
			if err := rows.Scan(r.fields()...); err != nil {
				return err
			}
			if err := take(r); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}
