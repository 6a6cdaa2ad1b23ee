package postgres

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// A row is one row of a table that restricts, as it is stored.
type row interface {
	place() place
	content(h *restrict.Hasher) restrict.Digest
}

// A place is where a row is: its table and the key by which restrict.Set knows it.
type place struct {
	table restrict.Table
	key   string
}

const (
	latchColumns    = "l.runtime, l.session, l.since_ns, l.body"
	approvalColumns = "a.id, a.kind, a.key, a.state, a.credential, a.runtime, a.session, a.agent, a.ends_ns, a.body"
	leaseColumns    = "l.id, l.parent, l.depth, l.runtime, l.session, l.agent, l.credential, l.state, l.uses, " +
		"l.max_uses, l.not_before_ns, l.expires_ns, l.boot, l.boot_from_ns, l.boot_until_ns, l.token, l.body"
	runColumns   = "r.runtime, r.session, r.run, r.version, r.used_ns, r.metadata, r.retries"
	stateColumns = "s.namespace, s.key, s.version, s.value"
)

type latchRow struct {
	runtime, session []byte
	since            int64
	body             []byte
}

func (r *latchRow) fields() []any { return []any{&r.runtime, &r.session, &r.since, &r.body} }
func (r *latchRow) place() place {
	return place{restrict.Latches, restrict.Key(string(r.runtime), string(r.session))}
}

func (r *latchRow) content(h *restrict.Hasher) restrict.Digest {
	h.Blob(r.runtime)
	h.Blob(r.session)
	h.Int(r.since)
	h.Blob(r.body)
	return h.Sum()
}

func (r *latchRow) latch() (l kernel.Latch, err error) { return l, json.Unmarshal(r.body, &l) }

func newLatchRow(l kernel.Latch) (*latchRow, error) {
	l.Since = l.Since.UTC().Round(0)
	body, err := json.Marshal(&l, json.Deterministic(true))
	return &latchRow{[]byte(l.Runtime), []byte(l.Session), l.Since.UnixNano(), body}, err
}

type runRow struct {
	runtime, session, run []byte
	version, used         int64
	metadata, retries     []byte
}

func (r *runRow) fields() []any {
	return []any{&r.runtime, &r.session, &r.run, &r.version, &r.used, &r.metadata, &r.retries}
}

func (r *runRow) key() phases.RunKey {
	return phases.RunKey{Runtime: string(r.runtime), Session: string(r.session), Run: string(r.run)}
}

func (r *runRow) place() place { return runPlace(r.key()) }

func runPlace(k phases.RunKey) place {
	return place{restrict.Runs, restrict.Key(k.Runtime, k.Session, k.Run)}
}

func (r *runRow) content(h *restrict.Hasher) restrict.Digest {
	for _, b := range [][]byte{r.runtime, r.session, r.run, r.metadata, r.retries} {
		h.Blob(b)
	}
	h.Int(r.version)
	h.Int(r.used)
	return h.Sum()
}

func (r *runRow) state() (out kernel.RunState, err error) {
	out.Version = r.version
	if err = json.Unmarshal(r.metadata, &out.Metadata); err == nil {
		err = json.Unmarshal(r.retries, &out.Retries)
	}
	return out, err
}

func newRunRow(w *kernel.RunWrite, used time.Time) (*runRow, error) {
	r := &runRow{runtime: []byte(w.Key.Runtime), session: []byte(w.Key.Session), run: []byte(w.Key.Run),
		version: w.Version + 1, used: used.UnixNano()}
	var err error
	if r.metadata, err = json.Marshal(w.Metadata, json.Deterministic(true)); err == nil {
		r.retries, err = json.Marshal(w.Retries, json.Deterministic(true))
	}
	return r, err
}

type stateRow struct {
	namespace, key []byte
	version        int64
	value          []byte
}

func (r *stateRow) fields() []any { return []any{&r.namespace, &r.key, &r.version, &r.value} }
func (r *stateRow) place() place {
	return statePlace(string(r.namespace), string(r.key))
}

func statePlace(namespace, key string) place {
	return place{restrict.State, restrict.Key(namespace, key)}
}

func (r *stateRow) content(h *restrict.Hasher) restrict.Digest {
	h.Blob(r.namespace)
	h.Blob(r.key)
	h.Int(r.version)
	h.Blob(r.value)
	return h.Sum()
}

type approvalRow struct {
	id, kind, key                       []byte
	state                               string
	credential, runtime, session, agent []byte
	ends                                int64
	body                                []byte
}

func (r *approvalRow) fields() []any {
	return []any{&r.id, &r.kind, &r.key, &r.state, &r.credential, &r.runtime, &r.session, &r.agent, &r.ends, &r.body}
}
func (r *approvalRow) place() place { return place{restrict.Approvals, restrict.Key(string(r.id))} }

func (r *approvalRow) content(h *restrict.Hasher) restrict.Digest {
	for _, b := range [][]byte{r.id, r.kind, r.key, r.credential, r.runtime, r.session, r.agent, r.body} {
		h.Blob(b)
	}
	h.Text(r.state)
	h.Int(r.ends)
	return h.Sum()
}

// item reads the row. What the columns beside the body say has to be what the body says: the body is found and
// filtered by them. A damaged item counts by its columns: they have its kind, its owner and its end.
func (r *approvalRow) item() approvals.Item {
	var it approvals.Item
	err := json.Unmarshal(r.body, &it, json.RejectUnknownMembers(true))
	if err == nil {
		same, err := newApprovalRow(&it)
		it.Damaged = err != nil || r.ends != same.ends || r.state != same.state
		for i, b := range [][]byte{r.id, r.kind, r.key, r.credential, r.runtime, r.session, r.agent} {
			it.Damaged = it.Damaged || !slices.Equal(b,
				[][]byte{same.id, same.kind, same.key, same.credential, same.runtime, same.session, same.agent}[i])
		}
	}
	if it.Damaged = it.Damaged || err != nil; it.Damaged {
		it.ID, it.Kind, it.Key, it.State = string(r.id), approvals.Kind(r.kind), string(r.key), approvals.State(r.state)
		it.By = approvals.Requester{Credential: string(r.credential), Runtime: string(r.runtime),
			Session: string(r.session), Agent: string(r.agent)}
		if r.open() {
			it.Clock, it.Expires = leases.Stamp{}, time.Unix(0, r.ends).UTC()
		}
	}
	return it
}

// open reports whether the item waits for a person, or an agent may still use it.
func (r *approvalRow) open() bool {
	return r.state == string(approvals.Pending) || r.state == string(approvals.Approved)
}

func newApprovalRow(it *approvals.Item) (*approvalRow, error) {
	body, err := json.Marshal(it, json.Deterministic(true))
	return &approvalRow{id: []byte(it.ID), kind: []byte(it.Kind), key: []byte(it.Key), state: string(it.State),
		credential: []byte(it.By.Credential), runtime: []byte(it.By.Runtime), session: []byte(it.By.Session),
		agent: []byte(it.By.Agent), ends: it.Ends().UnixNano(), body: body}, err
}

// ranOut reports whether an open item has run out. Of a row that cannot be read ends says it.
func (r *approvalRow) ranOut(it *approvals.Item, now leases.Instant) bool {
	if it.Damaged {
		return r.ends <= now.Latest().UnixNano()
	}
	return it.At(now).State == approvals.Expired
}

// keyPlace is where restrict.Set has the newest item of a question.
func keyPlace(kind approvals.Kind, key string) place {
	return place{restrict.ApprovalKeys, restrict.Key(string(kind), key)}
}

func keyContent(h *restrict.Hasher, id string) restrict.Digest {
	h.Text(id)
	return h.Sum()
}

type leaseRow struct {
	id, parent                          []byte
	depth                               int64
	runtime, session, agent, credential []byte
	state                               string
	uses, max, notBefore, expires       int64
	boot                                []byte
	bootFrom, bootUntil                 int64
	token, body                         []byte
}

func (r *leaseRow) fields() []any {
	return []any{&r.id, &r.parent, &r.depth, &r.runtime, &r.session, &r.agent, &r.credential, &r.state, &r.uses, &r.max,
		&r.notBefore, &r.expires, &r.boot, &r.bootFrom, &r.bootUntil, &r.token, &r.body}
}
func (r *leaseRow) place() place { return leasePlace(string(r.id)) }

func leasePlace(id string) place { return place{restrict.Leases, restrict.Key(id)} }

func (r *leaseRow) content(h *restrict.Hasher) restrict.Digest {
	for _, b := range [][]byte{r.id, r.parent, r.runtime, r.session, r.agent, r.credential, r.boot, r.token, r.body} {
		h.Blob(b)
	}
	h.Text(r.state)
	for _, n := range []int64{r.depth, r.uses, r.max, r.notBefore, r.expires, r.bootFrom, r.bootUntil} {
		h.Int(n)
	}
	return h.Sum()
}

func (r *leaseRow) lease() (l leases.Lease, err error) {
	if err := json.Unmarshal(r.body, &l); err != nil {
		return l, err
	}
	l.State, l.Uses = leases.State(r.state), r.uses
	l.NotBefore, l.ExpiresAt = time.Unix(0, r.notBefore).UTC(), time.Unix(0, r.expires).UTC()
	l.Boot, l.BootFrom, l.BootUntil = string(r.boot), time.Duration(r.bootFrom), time.Duration(r.bootUntil)
	l.Token = slices.Clone(r.token)
	return l, nil
}

// newLeaseRow returns the row of a lease; old is the row as it was, whose body stays, or nil.
func newLeaseRow(l *leases.Lease, old *leaseRow) (*leaseRow, error) {
	r := &leaseRow{id: []byte(l.ID), parent: []byte(l.Parent), depth: int64(l.Depth), runtime: []byte(l.Holder.Runtime),
		session: []byte(l.Holder.Session), agent: []byte(l.Holder.Agent), credential: []byte(l.Holder.Credential),
		state: string(l.State), uses: l.Uses, max: l.MaxUses, notBefore: l.NotBefore.UnixNano(),
		expires: l.ExpiresAt.UnixNano(), boot: []byte(l.Boot), bootFrom: int64(l.BootFrom), bootUntil: int64(l.BootUntil),
		token: append([]byte{}, l.Token...)}
	if old != nil {
		r.body = old.body
		return r, nil
	}
	var err error
	r.body, err = json.Marshal(l, json.Deterministic(true))
	return r, err
}

// Rows of which there is one: the clock of leases, and the last version given to a value.
func clockPlace() place   { return place{restrict.LeaseClock, ""} }
func versionPlace() place { return place{restrict.StateVersion, ""} }

func compactionPlace(k int32) place {
	return place{restrict.Compaction, restrict.Key(number(int64(k)))}
}

func intContent(h *restrict.Hasher, ns ...int64) restrict.Digest {
	for _, n := range ns {
		h.Int(n)
	}
	return h.Sum()
}
