package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// An Auditor reads the logs of all kernels of an organisation. It takes no kernel's name and writes nothing; the role
// of an auditor is enough for it. It believes none of what it reads. It is safe for concurrent use.
type Auditor struct{ store *Store }

// OpenAuditor opens the database for reading. Options.Kernel has no meaning. A replica will do.
func OpenAuditor(ctx context.Context, o Options) (*Auditor, error) {
	o.ReadOnly, o.Kernel, o.auditor = true, "auditor", true
	access, o, err := newAccess(o)
	if err != nil {
		return nil, unavailable("open", err)
	}
	s := &Store{o: o, access: access, stop: make(chan struct{})}
	if err := s.check(ctx, access.config); err != nil {
		return nil, unavailable("open", err)
	}
	if s.pool, err = s.openPool(ctx); err != nil {
		return nil, unavailable("open", err)
	}
	return &Auditor{s}, nil
}

// Close releases the connections.
func (a *Auditor) Close() {
	s := a.store
	s.ended.Do(func() { close(s.stop) })
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.feed.work.Wait()
	s.pool.Close()
}

// Changed returns a channel that is closed when kernels come or go, or change what they share; see Store.Changed.
func (a *Auditor) Changed() <-chan struct{} { return a.store.Changed() }

// Schema returns the name of the organisation.
func (a *Auditor) Schema() string { return a.store.o.Schema }

// KernelRow is what the database says of a kernel. Other programs have written it: no text of it is bounded in what it
// says, only in its length.
type KernelRow struct {
	ID      int32
	Name    string // ValidName says whether it is one
	Owner   string // the role that the kernel logs in as
	Host    string
	Version string
	Held    bool // a process has the name, or had it when it was last heard of
	Heard   Ago  // since the kernel was heard of
	Size    int64
	Key     string // the verifier of its checkpoints, where one is pinned

	Last     time.Time // of the newest event; zero: it is not there
	Report   []byte    // what the kernel says of itself; nil: nothing
	Reported Ago       // since then
}

// Ago is how long ago something was, by the clock of the server.
type Ago = time.Duration

// Never stands for an Ago that a row does not say.
const Never Ago = -1

// ValidName reports whether a kernel can have the name.
func ValidName(name string) bool {
	return len(name) <= maxNameBytes && regexp.MustCompile(namePattern).MatchString(name)
}

// MaxKernels is how many kernels an Auditor reads.
const MaxKernels = 10_000

// ago is how long ago a time was; a time in the future, or none at all, is never.
const ago = `CASE WHEN isfinite(%[1]s) AND %[1]s <= clock_timestamp() + interval '1 minute'
	THEN greatest(0, extract(epoch FROM clock_timestamp() - %[1]s))::float8 ELSE -1 END`

func agoOf(seconds float64) Ago {
	if seconds < 0 || seconds > 1e9 {
		return Never
	}
	return time.Duration(seconds * float64(time.Second))
}

func allKernels() string {
	return "SELECT id, left(name, 200), owner::text, left(host, 300), left(version, 200), holder IS NOT NULL, " +
		fmt.Sprintf(ago, "renewed") + `, size, left(checkpoint_key, 400),
		(SELECT e.time_ns FROM events e WHERE e.kernel = k.id AND e.seq = k.size), r.body, ` + fmt.Sprintf(ago, "r.at") + `
		FROM kernels k LEFT JOIN reports r ON r.kernel = k.id ORDER BY name LIMIT $1`
}

// Kernels returns all kernels by name.
func (a *Auditor) Kernels(ctx context.Context) (out []KernelRow, err error) {
	err = a.store.view(ctx, "read the kernels", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, allKernels(), MaxKernels+1)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (k KernelRow, err error) {
			var heard, reported float64
			var last *int64
			err = r.Scan(&k.ID, &k.Name, &k.Owner, &k.Host, &k.Version, &k.Held, &heard, &k.Size, &k.Key, &last, &k.Report,
				&reported)
			k.Heard, k.Reported = agoOf(heard), agoOf(reported)
			if last != nil {
				k.Last = time.Unix(0, *last).UTC()
			}
			return k, err
		})
		if len(out) > MaxKernels {
			err = fmt.Errorf("there are more than %d kernels", MaxKernels)
		}
		return err
	})
	return out, err
}

// unowned finds the numbers under which there are events, hashes or checkpoints, and no row of a kernel.
const unowned = `WITH RECURSIVE
	a AS (SELECT min(kernel) AS k FROM tiles UNION ALL
		SELECT (SELECT min(kernel) FROM tiles WHERE kernel > a.k) FROM a WHERE a.k IS NOT NULL),
	b AS (SELECT min(kernel) AS k FROM checkpoints UNION ALL
		SELECT (SELECT min(kernel) FROM checkpoints WHERE kernel > b.k) FROM b WHERE b.k IS NOT NULL),
	c AS (SELECT substring(r.relname from '^events_([0-9]{1,9})$')::int AS k FROM pg_inherits i
		JOIN pg_class r ON r.oid = i.inhrelid WHERE i.inhparent = to_regclass('events'))
	SELECT k FROM (SELECT k FROM a UNION SELECT k FROM b UNION SELECT k FROM c) found
	WHERE k IS NOT NULL AND NOT EXISTS (SELECT FROM kernels WHERE id = k) ORDER BY k LIMIT 1000`

// Unowned returns the numbers of kernels whose row is gone and whose log is there, or a part of it.
func (a *Auditor) Unowned(ctx context.Context) (out []int32, err error) {
	err = a.store.view(ctx, "look for logs without a kernel", func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, unowned)
		if err == nil {
			out, err = pgx.CollectRows(rows, pgx.RowTo[int32])
		}
		return err
	})
	return out, err
}

// Time returns the clock of the server.
func (a *Auditor) Time(ctx context.Context) (now time.Time, err error) {
	err = a.store.view(ctx, "read the clock", func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now)
	})
	return now, err
}

// Shared is what the database says of the rows that restrict.
type Shared struct {
	Version int64
	Root    string // the digest that is recorded; "" when nothing was written yet
	Kernel  int32  // in whose log it is recorded
	Event   int64  // of that log
	Wrong   string // why the rows are not those that the log records; "" when they are
}

// Shared compares all rows that restrict with the event that records them.
func (a *Auditor) Shared(ctx context.Context) (out Shared, err error) {
	err = a.store.view(ctx, "compare what restricts", func(tx pgx.Tx) error {
		var now shared
		err := tx.QueryRow(ctx, readShared).Scan(now.fields()...)
		if errors.Is(err, pgx.ErrNoRows) {
			out = Shared{Wrong: "the row that says which event records what restricts is gone"}
			return nil
		}
		if err != nil {
			return err
		}
		out = Shared{Version: now.version, Kernel: now.kernel, Event: now.seq}
		if root, ok := restrict.RootOf(now.tables); ok {
			out.Root = root.String()
		}
		set, err := loadRows(ctx, tx, &now)
		if err == nil {
			err = recorded(set, &now)
		}
		if err == nil {
			err = vouch(ctx, tx, &now)
		}
		if t := tamperedOf(err); t != nil {
			out.Wrong, err = t.Error(), nil
		}
		return err
	})
	return out, err
}

// Log returns the log of a kernel. What restricts is not its own, and is not compared: see Shared.
func (a *Auditor) Log(k int32) *KernelLog {
	s := &Store{o: a.store.o, access: a.store.access, kernel: k, pool: a.store.pool}
	return &KernelLog{Log: s, events: s}
}

// LogOfKernel is a kernel of the organisation, with its log.
type LogOfKernel struct {
	KernelRow
	Log kernel.Log
}

// Logs returns all kernels of the organisation. The error is kernel.ErrUnavailable.
func (s *Store) Logs(ctx context.Context) (out []LogOfKernel, err error) {
	a := &Auditor{s}
	rows, err := a.Kernels(ctx)
	for _, k := range rows {
		out = append(out, LogOfKernel{k, a.Log(k.ID)})
	}
	return out, err
}

// KernelLog is the log of one kernel, for reading.
type KernelLog struct {
	kernel.Log
	events
}

type events interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
}

// Restrictions implements kernel.Log.
func (l *KernelLog) Restrictions(ctx context.Context) (out kernel.Restrictions, err error) {
	out.Seq, err = l.LogSize(ctx)
	out.Recorded = notCompared
	return out, err
}

// notCompared stands where the digest of rows would.
const notCompared = "not compared here"

var _ kernel.Log = (*KernelLog)(nil)
