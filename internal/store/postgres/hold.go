package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/store/marked"
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
	return fmt.Errorf("%w: %w", kernel.ErrUnavailable, marked.Behind(format, args...))
}

// ready makes sure that there is a connection that holds the name, that the rows that restrict are known, and that
// nothing of what this kernel has seen is gone.
func (w *writer) ready(ctx context.Context) error { return w.noticing(ctx, w.prepared) }

// noticing runs f, and remembers if it finds that the database went back or, where no log is forwarded meanwhile, that
// rows were edited.
func (w *writer) noticing(ctx context.Context, f func(context.Context) error) error {
	if err := w.stillLost(); err != nil {
		return err
	}
	err := f(ctx)
	switch {
	case errors.Is(err, kernel.ErrRollback), errors.Is(err, kernel.ErrTampered) && !w.store.o.Forwarding:
		w.lose(err)
	case err == nil:
		w.lost = nil
	case w.lost != nil:
		return w.lost // that is what to say until it is known that it is over
	}
	return err
}

// prepared is ready without a memory of what was wrong.
func (w *writer) prepared(ctx context.Context) error {
	if err := w.attach(ctx); err != nil {
		return err
	}
	if !w.compared {
		if err := w.compare(ctx); err != nil {
			return err
		}
	}
	if w.store.doubts.Swap(false) {
		w.disbelieve()
	}
	if w.set == nil {
		if err := w.load(ctx); err != nil {
			return err
		}
	}
	w.compared = true
	return w.guard(ctx)
}

// disbelieve has all rows that restrict compared before the next is believed.
func (w *writer) disbelieve() {
	if w.set != nil {
		w.store.disbelieved.Store(&rows{w.version, w.set})
	}
	w.set = nil
	w.store.sets.forget()
}

// lookAgain is how often a kernel whose database went back, or whose rows were edited, looks whether all is well again.
const lookAgain = 2 * time.Second

// stillLost returns why nothing can be written, if that is not to be looked at anew.
func (w *writer) stillLost() error {
	if w.lost == nil || w.recoveredElsewhere() {
		return nil
	}
	if time.Since(w.lostAt) < lookAgain {
		return w.lost
	}
	w.lostAt = time.Now()
	return nil
}

// attach makes sure that there is a connection that holds the name.
func (w *writer) attach(ctx context.Context) error {
	if w.conn != nil && !w.lent && w.access != w.store.accessNumber() {
		w.drop() // it was made with a password, or to a host, that is not used any more
	}
	if w.conn != nil {
		return w.fits(ctx)
	}
	e, err := w.take(ctx)
	if err != nil {
		return err
	}
	if err := w.behind(ctx, e); err != nil {
		w.end()
		return err
	}
	w.edge = e
	return w.fits(ctx)
}

// fits makes sure once for each connection that the schema is still of this program's version: a newer belay may have
// migrated it. Whether an attempt was committed is found out before, and does not wait for that.
func (w *writer) fits(ctx context.Context) error {
	if w.fitting {
		return nil
	}
	if err := checkSchema(ctx, w.conn, w.store.o.Schema); err != nil {
		w.drop()
		return err
	}
	w.fitting = true
	return nil
}

// present is ready for those who decide. To forward a log takes the name, and nothing of what was seen may be gone:
// what is sent again would hide that.
func (w *writer) present(ctx context.Context) error {
	if w.store.o.Forwarding {
		return w.noticing(ctx, w.named)
	}
	return w.ready(ctx)
}

func (w *writer) named(ctx context.Context) error {
	if err := w.attach(ctx); err != nil {
		return err
	}
	return w.guard(ctx)
}

// lose notes that the database went back, or that rows were edited, and gives the name back: `belay recover` may be
// another process.
func (w *writer) lose(err error) {
	if errors.Is(err, kernel.ErrTampered) {
		w.disbelieve()
	}
	w.lost, w.lostAt, w.lostEpoch = err, time.Now(), w.epoch()
	w.end()
}

// compare makes sure that the rows that restrict are the ones that this process has seen before, or that they grew from
// those. Within one connection the number of their version says so; a new one may lead to a server with another
// history, in which other kernels have used the same numbers again.
func (w *writer) compare(ctx context.Context) error {
	if err := w.sees(ctx, w.seen()); err != nil || w.set == nil {
		return err
	}
	var now shared
	if err := now.scan(w.conn.QueryRow(ctx, readShared)); err != nil {
		return err
	}
	if now.version == w.version {
		if recorded(w.set, &now) != nil {
			return rolledBack("the rows that restrict are others of version %d than before the connection was lost", now.version)
		}
		return nil
	}
	err := w.follow(ctx)
	if errors.Is(err, kernel.ErrTampered) { // the changes do not lead there: what is next believed is compared as a whole
		w.disbelieve()
		return nil
	}
	return err
}

// patiently calls f until no other process has the kernel's name. After a crash its last holder counts as being there
// for a while, and one that is blocked has it for a moment, to look whether all is well again.
func (w *writer) patiently(ctx context.Context, f func() error) error {
	for deadline := time.Now().Add(w.store.o.Hold/3 + time.Second); ; {
		err := f()
		if !errors.Is(err, errHeld()) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// behind returns an error if the log is not the one that this process has seen before, or one that grew from it: a
// server took over that lacks the last transactions, or an older copy of the database was brought back.
func (w *writer) behind(ctx context.Context, now *edge) error {
	was := w.edge
	switch {
	case was == nil:
		return nil
	case now.size < was.size:
		return w.gone(now.size, was.size)
	case w.store.o.Forwarding: // each new connection is compared with the log itself, which is elsewhere
		return nil
	case now.size == was.size && !now.same(was):
		return w.otherEvents(was.size)
	case now.size > was.size:
		root, err := w.rootAt(ctx, now, was.size)
		if err == nil && root != was.root() {
			err = w.otherEvents(was.size)
		}
		return err
	}
	return nil
}

// take connects and takes the kernel's name. It returns the edge of the log as it is in the database. A
// transaction of an earlier connection has ended then, or can only fail.
func (w *writer) take(ctx context.Context) (*edge, error) {
	if w.held.pid != 0 { // a new connection: the files may say something else by now
		w.store.refreshAccess(true)
	}
	config, number := w.store.access.current()
	c, err := connectDirectly(ctx, config)
	if err != nil {
		return nil, err
	}
	e, err := w.takeOver(ctx, c)
	if err != nil {
		_ = c.Close(ctx)
		return nil, err
	}
	w.conn, w.access, w.fitting = c, number, false
	w.answers()
	w.compared, w.guarded.compared = false, false
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
	var mark string
	err := c.QueryRow(ctx, `SELECT h.kernel, h.fence, h.size, h.tail, (SELECT span FROM settings), a.backend_start
		FROM hold($1, $2, $3, $4, $5, $6, $7) h
		LEFT JOIN pg_stat_activity a ON a.pid = pg_backend_pid()`, o.Kernel, w.store.id, host, o.Version, o.Hold,
		o.Hold/3, o.CheckpointKey).Scan(&h.kernel, &h.fence, &size, &tail, &h.span, &h.start)
	switch refusal(err) {
	case codeHeld:
		return nil, fmt.Errorf("%w: %w; give each kernel a name of its own", errHeld(), err)
	case codeOwner:
		return nil, fmt.Errorf("%w; each role of the database has kernel names of its own", err)
	case codeNames:
		return nil, fmt.Errorf("%w; give other kernels a login of their own, or let the owner of the schema allow more: "+
			"UPDATE %s SET names = 2000", err, quoted(o.Schema, "settings"))
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
	// By a statement of its own: what the last holder has written is not in the snapshot of the one that waited for it.
	if err := c.QueryRow(ctx, "SELECT mark FROM kernels WHERE id = $1", h.kernel).Scan(&mark); err != nil {
		return nil, err
	}
	e, err := newEdge(size, tail)
	if err == nil {
		err = w.root(ctx, c, h.kernel, e)
	}
	if err == nil {
		w.held, w.placed, w.guarded.store = h, size/h.span, mark
	}
	return e, err
}

// heldError is a class of errors for errors.Is: another process holds the kernel's name.
type heldError struct{}

func (heldError) Error() string { return "the kernel's name is in use" }

func errHeld() error { return heldError{} }

// NameInUse reports whether an error says that another process holds the kernel's name.
func NameInUse(err error) bool { return errors.Is(err, errHeld()) }

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
	err := w.present(ctx)
	if err != nil {
		w.dropBroken()
		w.failed(err)
		return
	}
	_, err = w.conn.Exec(ctx, "SELECT renew($1, $2)", w.held.kernel, w.held.fence)
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
	w.drop() // the connection is another one than it was sent on
	before := w.edge
	for wait := retryFirst; ; wait = min(2*wait, retryMost) {
		ctx, cancel := w.bounded()
		e, err := w.take(ctx)
		if err == nil {
			written, err = w.answer(ctx, t, before, e)
		} else if errors.Is(err, errHeld()) || refusal(err) == codeOwner || refusal(err) == codeOtherKey {
			written, err = w.answerOfOthers(ctx, t)
		}
		cancel()
		if err == nil || errors.Is(err, kernel.ErrRollback) {
			w.dropBroken()
			return written, err
		}
		w.drop() // the next try connects anew
		if (wait > retryFirst || unanswered(err)) && !w.store.o.Forwarding {
			w.store.circuit.open(err) // whatever the reason: nothing else is decided meanwhile
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
	if now.same(before) && !now.same(t.edge) { // one that was sent behind another may have been found with that
		return false, nil
	}
	if !now.same(t.edge) {
		if err := w.behind(ctx, now); err != nil {
			if errors.Is(err, kernel.ErrRollback) {
				w.lose(err)
			}
			return false, err
		}
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
		var id []byte // by its number alone: where a plan has to choose, it may take the index of ids
		err := c.QueryRow(ctx, "SELECT id FROM events WHERE kernel = $1 AND seq = $2", w.held.kernel, r.receipt.First).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		return string(id) == r.batch.Events[0].ID, err
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
