package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
)

// held is what a process has that holds a kernel's name.
type held struct {
	kernel int32
	fence  int64
	span   int64 // events in a partition

	pid   uint32    // of the server's process for the connection
	start time.Time // of that
}

func rolledBack(format string, args ...any) error {
	return fmt.Errorf("%w: %w: %s", kernel.ErrRollback, kernel.ErrUnavailable, fmt.Sprintf(format, args...))
}

// ready makes sure that there is a connection that holds the name, and that the rows that restrict are known.
func (w *writer) ready(ctx context.Context) error {
	if w.lost != nil {
		return w.lost
	}
	if err := w.attach(ctx); err != nil {
		return err
	}
	if w.set != nil && !w.compared {
		if err := w.compare(ctx); err != nil {
			return err
		}
	}
	if w.set == nil {
		if err := w.load(ctx); err != nil {
			return err
		}
	}
	w.compared = true
	return nil
}

// attach makes sure that there is a connection that holds the name.
func (w *writer) attach(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	e, err := w.take(ctx)
	if err != nil {
		return err
	}
	if w.lost = cmp.Or(w.lost, w.behind(e)); w.lost != nil && !w.store.o.Forwarding {
		w.drop()
		return w.lost
	}
	w.edge = e
	return nil
}

// present is ready for those who decide; to forward a log takes the name alone.
func (w *writer) present(ctx context.Context) error {
	if w.store.o.Forwarding {
		return w.attach(ctx)
	}
	return w.ready(ctx)
}

// compare makes sure that the rows that restrict are the ones that this process has seen before, or that they grew from
// those. Within one connection the number of their version says so; a new one may lead to a server with another
// history, in which other kernels have used the same numbers again.
func (w *writer) compare(ctx context.Context) error {
	var now shared
	if err := w.conn.QueryRow(ctx, readShared).Scan(now.fields()...); err != nil {
		return err
	}
	if now.version == w.version {
		if recorded(w.set, &now) != nil {
			w.lost = rolledBack("the rows that restrict are others of version %d than before the connection was lost",
				now.version)
		}
		return w.lost
	}
	if w.followed.version > 0 {
		_, hash, err := recording(ctx, w.conn, &w.followed)
		if err != nil {
			return err
		}
		if hash == nil || *hash != w.followed.hash {
			w.lost = rolledBack("the log of another kernel lacks event %d, which records the rows that restrict of version %d",
				w.followed.seq, w.followed.version)
			return w.lost
		}
	}
	err := w.follow(ctx)
	if errors.Is(err, kernel.ErrTampered) { // the changes do not lead there: what is next believed is compared as a whole
		w.set = nil
		w.store.sets.forget()
		return nil
	}
	return err
}

// behind returns an error if the log is not the one that this process has seen before, or one that grew from it: a
// server took over that lacks the last transactions, or an older copy of the database was brought back.
func (w *writer) behind(now *edge) error {
	switch was := w.edge; {
	case was == nil || w.store.o.Forwarding: // the log is elsewhere; what is gone is forwarded again
		return nil
	case now.size < was.size:
		return rolledBack("the log of kernel %q has %d events, and had %d before the connection was lost", w.store.o.Kernel,
			now.size, was.size)
	case now.size == was.size && !now.same(was):
		return rolledBack("the log of kernel %q has other events than before the connection was lost", w.store.o.Kernel)
	}
	return nil
}

// take connects and takes the kernel's name. It returns the edge of the log as it is in the database. A
// transaction of an earlier connection has ended then, or can only fail.
func (w *writer) take(ctx context.Context) (*edge, error) {
	c, err := w.store.connect(ctx)
	if err != nil {
		return nil, err
	}
	e, err := w.takeOver(ctx, c)
	if err != nil {
		_ = c.Close(ctx)
		return nil, err
	}
	w.conn, w.compared = c, false
	return e, nil
}

func (w *writer) takeOver(ctx context.Context, c *pgx.Conn) (*edge, error) {
	if w.held.pid != 0 {
		// What is left of our own last connection would be waited for. It is gone, or ends now.
		_, err := c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE pid = $1 AND backend_start = $2`, int32(w.held.pid), w.held.start)
		if err != nil && refusal(err) == "" {
			return nil, err
		}
	}
	o := &w.store.o
	if err := o.compareClocks(ctx, c); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	var h held
	var size int64
	var tail []byte
	err := c.QueryRow(ctx, `SELECT h.kernel, h.fence, h.size, h.tail, (SELECT span FROM settings), a.backend_start
		FROM hold($1, $2, $3, $4, $5, $6, $7) h
		LEFT JOIN pg_stat_activity a ON a.pid = pg_backend_pid()`, o.Kernel, w.store.id, host, o.Version, o.Hold,
		o.Hold/3, o.CheckpointKey).Scan(&h.kernel, &h.fence, &size, &tail, &h.span, &h.start)
	switch refusal(err) {
	case codeHeld:
		return nil, fmt.Errorf("%w: %w; give each kernel a name of its own", errHeld(), err)
	case codeOwner:
		return nil, fmt.Errorf("%w; each role of the database has kernel names of its own", err)
	case codeOtherKey:
		return nil, fmt.Errorf("%w; give this kernel a name of its own, or bring back the keys of its state directory; "+
			"where they are lost for good, the owner of the schema runs `belay migrate --forget-key %s`", err, o.Kernel)
	}
	if err != nil {
		return nil, err
	}
	if _, err := c.Prepare(ctx, appendName, appendEvents); err != nil {
		return nil, err
	}
	h.pid = c.PgConn().PID()
	e, err := newEdge(size, tail)
	if err == nil {
		err = w.root(ctx, c, h.kernel, e)
	}
	if err == nil {
		w.held, w.placed = h, size/h.span
	}
	return e, err
}

// heldError is a class of errors for errors.Is: another process holds the kernel's name.
type heldError struct{}

func (heldError) Error() string { return "the kernel's name is in use" }

func errHeld() error { return heldError{} }

// root reads the hashes that growing the tree needs.
func (w *writer) root(ctx context.Context, c *pgx.Conn, k int32, e *edge) error {
	levels := e.lacks()
	var indexes []int64
	for _, x := range levels {
		indexes = append(indexes, x)
	}
	hashes, err := readHashes(ctx, c, k, e, indexes)
	if err != nil {
		return err
	}
	for level, x := range levels {
		e.roots[level] = hashes[x]
	}
	return nil
}

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

const tilesByNumber = "SELECT n, hashes FROM tiles WHERE kernel = $1 AND n = ANY ($2::bigint[])"

// readHashes returns hashes of a tree by their index.
func readHashes(ctx context.Context, q querier, k int32, e *edge, indexes []int64) (map[int64]tlog.Hash, error) {
	last := tlog.StoredHashCount(e.size) / rowHashes
	rows := map[int64][]byte{last: e.tail}
	var wanted []int64
	for _, x := range indexes {
		if n := x / rowHashes; x >= 0 && n < last && rows[n] == nil {
			rows[n] = []byte{}
			wanted = append(wanted, n)
		}
	}
	if len(wanted) > 0 {
		found, err := q.Query(ctx, tilesByNumber, k, wanted)
		if err != nil {
			return nil, err
		}
		var n int64
		var b []byte
		if _, err := pgx.ForEachRow(found, []any{&n, &b}, func() error {
			rows[n] = append([]byte{}, b...)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	out := make(map[int64]tlog.Hash, len(indexes))
	for _, x := range indexes {
		at := int(x % rowHashes * tlog.HashSize)
		if x < 0 || len(rows[x/rowHashes]) < at+tlog.HashSize {
			return nil, damaged("there is no hash %d", x)
		}
		out[x] = tlog.Hash(rows[x/rowHashes][at : at+tlog.HashSize])
	}
	return out, nil
}

// drop closes the connection.
func (w *writer) drop() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.conn.Close(ctx)
	w.conn = nil
}

// dropBroken forgets a connection that is of no use any more.
func (w *writer) dropBroken() {
	if w.conn != nil && w.conn.IsClosed() {
		w.conn = nil
	}
}

// renew tells the database that this process is there; without a connection it tries to get one.
func (w *writer) renew() {
	ctx, cancel := w.bounded()
	defer cancel()
	if w.present(ctx) != nil {
		return
	}
	_, err := w.conn.Exec(ctx, "SELECT renew($1, $2)", w.held.kernel, w.held.fence)
	if err == nil {
		err = w.store.o.compareClocks(ctx, w.conn)
	}
	if err == nil {
		w.tell(ctx)
	}
	if refusal(err) == codeFenced || errors.Is(err, errClocks()) {
		w.drop() // the next request asks for the name, and looks at the clocks, anew
	}
	w.dropBroken()
}

// clocksError is a class of errors for errors.Is: the clock of this machine differs from the server's.
type clocksError struct{}

func (clocksError) Error() string { return "clocks differ" }

func errClocks() error { return clocksError{} }

// compareClocks refuses a clock that is far from the server's. Leases and approvals end by the clock of the
// kernel that looks: with clocks an hour apart one kernel would go on with what has ended for all others.
func (o *Options) compareClocks(ctx context.Context, c *pgx.Conn) error {
	before := o.Now()
	var server time.Time
	if err := c.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&server); err != nil {
		return err
	}
	after := o.Now()
	ahead := before.Sub(server) // at least, if it is
	if behind := server.Sub(after); ahead > maxDifference || behind > maxDifference {
		return fmt.Errorf("%w: this machine's says %s and the server's %s, and leases and approvals end by the clock; "+
			"set both by one time server (NTP)", errClocks(), before.UTC().Format(time.RFC3339),
			server.UTC().Format(time.RFC3339))
	}
	return nil
}

// resolve finds out whether an attempt was committed whose answer was lost. It asks until it knows; callers whose
// requests are not begun yet wait no longer than they want to. Only when the store is closed it gives up.
func (w *writer) resolve(t *attempt) (written bool, err error) {
	before := w.edge
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ctx, cancel := w.bounded()
		e, err := w.take(ctx)
		if err == nil {
			written, err = w.answer(ctx, t, before, e)
		} else if errors.Is(err, errHeld()) || refusal(err) == codeOwner {
			written, err = w.answerOfOthers(ctx, t)
		}
		cancel()
		w.dropBroken()
		if err == nil || errors.Is(err, kernel.ErrRollback) {
			return written, err
		}
		select {
		case <-w.store.stop:
			return false, errUndecided()
		case <-time.After(wait):
		}
	}
}

// answer compares the log with what it was before and after the attempt.
func (w *writer) answer(ctx context.Context, t *attempt, before, now *edge) (written bool, err error) {
	switch {
	case now.same(before):
		return false, nil
	case now.same(t.edge):
	case w.behind(now) != nil:
		w.lost = w.behind(now)
		return false, w.lost
	default:
		if written, err = w.has(ctx, w.conn, t); err != nil || !written {
			w.edge = now
			return written, err
		}
	}
	w.won(t)
	w.edge = now
	return true, nil
}

// answerOfOthers looks for the events while another process has the name: what the old connection did has ended then.
func (w *writer) answerOfOthers(ctx context.Context, t *attempt) (written bool, err error) {
	c, err := w.store.connect(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close(ctx)
	return w.has(ctx, c, t)
}

// has reports whether the first event of an attempt is where it would be. All of them are in one transaction.
func (w *writer) has(ctx context.Context, c *pgx.Conn, t *attempt) (bool, error) {
	for _, r := range t.group {
		if r.err != nil || r.receipt.First == 0 {
			continue
		}
		var there bool
		err := c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM events WHERE kernel = $1 AND seq = $2 AND id = $3)", w.held.kernel,
			r.receipt.First, []byte(r.batch.Events[0].ID)).Scan(&there)
		return there, err
	}
	return false, nil // it would have changed nothing
}

// end gives the name back.
func (w *writer) end() {
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = w.conn.Exec(ctx, "SELECT release($1, $2)", w.held.kernel, w.held.fence)
	w.drop()
}
