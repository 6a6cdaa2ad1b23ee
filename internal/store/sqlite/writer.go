package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
)

const (
	// Pages of the write-ahead log after which it is moved into the database:
	// when the writer has been idle for so long, and when callers wait. The
	// larger it may become, the more often a page is in it, and is moved only
	// once.
	idleLog   = 1000
	busyLog   = 4000
	idleAfter = 20 * time.Millisecond
)

// writer writes. One goroutine of it decides about requests that wait; a caller that finds none
// and the writer idle commits by itself; see byCaller.
type writer struct {
	store *Store
	busy  sync.Mutex // held while anything below changes or conn is used; see committed
	conn  *conn      // nil after a failure of the disk, until recover succeeds
	edge  *edge      // as the last transaction left it; nil when that is not known

	guarded guarded

	set     *restrict.Set // the rows that restrict, as far as they are written
	version int64         // of the database, when its rows were last known to be those of set; see dataVersion
	alone   bool          // no other connection has written since version
	found   head          // what the newest leaf said of the rows when the transaction began
	wrong   error         // kernel.ErrTampered: the rows are not those that the log records, and set is not known

	unsettled *intent // a shared batch of which it is not known here whether it counts; see share.go
	looked    bool    // unsettled is as the database has it, but for what other connections have written since

	pages  int  // of the write-ahead log
	moved  int  // pages when it was last moved, or begun to be
	groups int  // decided so far
	crowd  bool // the goroutine's last group was of more than one request
	looks  bool // the goroutine looks at the log by itself, or was told to
	ended  bool // nothing is written any more

	waiting atomic.Int64  // requests that are not decided yet
	grown   chan struct{} // the log has grown while the goroutine waited
}

func (w *writer) run() {
	for {
		r, ok := w.next()
		switch {
		case !ok:
			w.busy.Lock()
			defer w.busy.Unlock()
			if w.ended = true; w.conn != nil {
				w.conn.close()
				w.conn = nil
			}
			return
		case r == nil:
			w.checkpoint()
		default:
			w.serve(r)
		}
	}
}

// next waits for a request. It returns nil when there is time for the log.
func (w *writer) next() (r *request, ok bool) {
	for {
		groups, due := w.look()
		if !due {
			select {
			case r, ok = <-w.store.requests:
				return r, ok
			case <-w.grown:
				continue
			}
		}
		t := time.NewTimer(idleAfter)
		select {
		case r, ok = <-w.store.requests:
			t.Stop()
			return r, ok
		case <-t.C:
			if now, due := w.look(); due && now == groups {
				return nil, true
			}
		}
	}
}

// look returns how many groups were decided so far, and whether the log is to be moved when no more come.
func (w *writer) look() (groups int, due bool) {
	w.busy.Lock()
	defer w.busy.Unlock()
	w.looks = w.due(min(idleLog, w.store.logPages))
	return w.groups, w.looks
}

// serve decides about the first request and those behind it, and tells their callers.
func (w *writer) serve(first *request) {
	w.busy.Lock()
	group := []*request{first}
	// Requests that came in during the last sync go together; none waits
	// for more that may never come.
fill:
	for len(group) < maxGroup {
		select {
		case next, ok := <-w.store.requests:
			if !ok {
				break fill
			}
			group = append(group, next)
		default:
			break fill
		}
	}
	w.waiting.Add(-int64(len(group)))
	w.crowd = len(group) > 1
	group = w.decide(group)
	full := w.due(w.store.logPages)
	w.busy.Unlock()
	for _, r := range group {
		close(r.done)
	}
	if full {
		w.checkpoint()
	}
}

// byCaller decides about a request on the goroutine of its caller, which spares the way to the writer's and
// back: two goroutines that wait for each other, and what they read in the caches of two processors. It
// reports false when others wait, or the writer has something to do: then the request waits, too.
func (w *writer) byCaller(r *request) bool {
	if !w.busy.TryLock() {
		return false
	}
	defer w.busy.Unlock()
	// Where callers come together, more of them share a sync if each one waits.
	if w.ended || w.crowd || w.waiting.Load() != 0 || w.due(w.store.logPages) {
		return false
	}
	decided := false
	defer func() {
		if !decided {
			w.lose()
		}
	}()
	w.decide([]*request{r})
	decided = true
	if !w.looks && w.due(min(idleLog, w.store.logPages)) {
		w.looks = true
		select {
		case w.grown <- struct{}{}:
		default: // it was told already
		}
	}
	return true
}

// use takes a connection into use. SQLite would move the log inside COMMIT, while
// the callers wait, and would keep an error of that to itself.
func (w *writer) use(c *conn) {
	w.conn, w.edge, w.pages, w.moved, w.looked = c, nil, 0, 0, false
	var err error
	if w.version, err = dataVersion(c); err != nil {
		w.version = unknownVersion
	}
	c.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		if pages < w.moved {
			w.moved = 0 // it was begun anew
		}
		w.pages = pages
		return nil
	})
}

// due reports whether the log has grown by so many pages since it was last moved.
func (w *writer) due(pages int) bool { return w.conn != nil && w.pages-w.moved >= pages }

// checkpoint moves the log into the database, as far as readers let it. After an
// error it is not known what has reached the disk; see recover.
func (w *writer) checkpoint() {
	w.busy.Lock()
	defer w.busy.Unlock()
	if w.conn == nil {
		return // a caller has lost it meanwhile; recover moves the log
	}
	w.moved = w.pages
	if _, _, err := w.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE); err != nil && !errors.Is(err, sqlite3.BUSY) {
		w.conn.close()
		w.conn = nil
	}
}

// decide returns the requests that callers still wait for. Preconditions: w.busy is held.
func (w *writer) decide(group []*request) []*request {
	w.groups++
	live := group[:0]
	for _, r := range group {
		if r.taken.CompareAndSwap(false, true) {
			live = append(live, r)
		}
	}
	if len(live) == 0 {
		return nil
	}
	// A recovery goes alone, and so does what concerns a shared batch.
	together := live[:0:0]
	for _, r := range live {
		if r.share != nil {
			w.share(r)
		} else if r.recover != nil || r.settles {
			w.together([]*request{r})
		} else {
			together = append(together, r)
		}
	}
	if len(together) > 0 {
		w.together(together)
	}
	return live
}

// lose closes the connection when a panic unwinds, which the kernel survives: the transaction ends with it, and
// nothing reads what was not committed. Preconditions: w.busy is held.
func (w *writer) lose() {
	c := w.conn
	w.conn, w.edge, w.guarded.settled, w.looked = nil, nil, false, false
	w.store.watch.forget()
	if c != nil {
		c.close()
	}
}

func (w *writer) together(live []*request) {
	err := w.transaction(live, false)
	if errors.Is(err, errTogether) {
		err = w.transaction(live, true)
	}
	if err != nil {
		for _, r := range live {
			r.receipt, r.err = kernel.Receipt{}, unavailable("commit", err)
		}
	}
}

// transaction writes the group. A nil error means that the transaction is
// durable and every request has its own outcome; otherwise nothing of it is.
func (w *writer) transaction(group []*request, apart bool) error {
	if err := w.follow(); err != nil {
		return err
	}
	err := w.conn.exec("BEGIN IMMEDIATE")
	if err == nil {
		err = w.apply(group, apart)
		if err == nil {
			err = w.intend(group)
		}
		if err == nil {
			err = w.recordShared(group)
		}
		if err == nil {
			err = w.conn.exec("COMMIT")
		}
	}
	if err == nil {
		w.advance()
		w.store.due(w.edge.size)
		return nil
	}
	w.store.watch.forget()
	w.edge, w.conn.seen, w.guarded.settled, w.looked = nil, 0, false, false
	undone := w.conn.GetAutocommit() || w.conn.exec("ROLLBACK") == nil
	if !undone || !errors.Is(err, sqlite3.BUSY) && !errors.Is(err, errTogether) && !errors.Is(err, kernel.ErrRollback) &&
		!errors.Is(err, marked.ErrRefused) && !errors.Is(err, errElsewhere) {
		w.conn.close() // which undoes it, if that was still to be done
		w.conn = nil
	}
	return err
}

// recover opens the database anew after a failed write. Frames of the
// write-ahead log whose sync failed may look fine in the page cache and be gone
// after a power cut, and everything appended behind them with them. So the whole
// log is moved into the database file, with a sync of that file, before
// anything more is acknowledged.
func (w *writer) recover() error {
	c, err := w.store.open(context.Background())
	if err != nil {
		return err
	}
	if _, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_TRUNCATE); err != nil {
		c.close()
		return err
	}
	w.use(c)
	// What other connections wrote before this one was opened, it does not tell. The rows that this process
	// remembers may be older.
	w.version = unknownVersion
	return nil
}

// errTogether: the group cannot be written as it is, but perhaps without one of it.
var errTogether = errors.New("a batch of the group cannot be written")

// errElsewhere: the other store of a shared batch did not commit, which says nothing about this one.
var errElsewhere = errors.New("the shared database has not committed")

// apply writes the group. A request that is refused before anything of it was
// written, as most that conflict are, leaves the others alone. One that fails later
// makes the answer errTogether; then apart gives each a savepoint. Any other
// error means that the connection cannot be trusted.
func (w *writer) apply(group []*request, apart bool) (err error) {
	c := w.conn
	version, err := dataVersion(c)
	if err != nil {
		return err
	}
	// The size of the tree counts, not the newest event: a number is never
	// given twice, not even when the tail of the events was removed.
	if w.alone = version == w.version; !w.alone || w.edge == nil {
		if w.edge, err = w.edge.current(c); err != nil {
			return err
		}
	}
	if w.found, w.wrong = w.rows(version); w.wrong != nil && !errors.Is(w.wrong, kernel.ErrTampered) {
		return w.wrong
	}
	if w.wrong == nil {
		w.store.watch.keep(w.set, w.store.era.Load())
	} else {
		w.store.watch.forget()
	}
	if err = w.findUnsettled(); err != nil {
		return err
	}
	if err = w.guard(group); err != nil {
		return err
	}
	before, wrong := w.found, w.wrong // a recovery has repaired them
	refused := wrong
	if refused == nil {
		refused = w.unsettled.error()
	}
	for _, r := range group {
		if refused != nil && !(wrong == nil && r.settles) && (r.work == nil || r.rows) {
			r.receipt, r.uses, r.err = kernel.Receipt{}, nil, refused
			continue
		}
		before := c.TotalChanges()
		if apart {
			err = w.savepoint(r)
		} else {
			r.err = w.one(r)
		}
		switch {
		case err != nil:
			return err
		case r.err == nil || apart:
		case fatal(r.err):
			return r.err
		case c.TotalChanges() != before:
			return fmt.Errorf("%w: %w", errTogether, r.err)
		}
	}
	if err := w.edge.write(c); err != nil || wrong != nil || group[0].back {
		return err
	}
	return w.recordRows(before)
}

// savepoint writes one request, or leaves no trace of it.
func (w *writer) savepoint(r *request) error {
	c := w.conn
	if err := c.exec("SAVEPOINT batch"); err != nil {
		return err
	}
	before, rows := w.edge.clone(), w.set
	if r.err = w.one(r); r.err != nil {
		if fatal(r.err) {
			return r.err
		}
		if err := c.exec("ROLLBACK TO batch"); err != nil {
			return err
		}
		w.edge, w.set, w.conn.seen = before, rows, 0
	}
	return c.exec("RELEASE batch")
}

// one writes one request.
func (w *writer) one(r *request) error {
	r.receipt, r.uses = kernel.Receipt{}, nil
	if r.recover != nil {
		return nil // guard has done it
	}
	if r.share != nil {
		return w.writeShared(r)
	}
	if r.work != nil {
		return r.work(w.conn)
	}
	if err := w.spent(r); err != nil {
		return err
	}
	first := w.edge.size + 1
	set, pruned, err := w.rowsOf(r)
	if err != nil {
		return err
	}
	for i := range r.events {
		var stamp *restrict.Digest
		if i == len(r.events)-1 {
			root := set.Root()
			stamp = &root
		}
		if err := writeEvent(w.conn, w.edge, &r.batch.Events[i], &r.events[i], stamp); err != nil {
			return err
		}
	}
	w.set = set
	if w.edge.size >= first {
		r.receipt = kernel.Receipt{First: first, Last: w.edge.size, Pruned: pruned}
	}
	return nil
}

// spent refuses a request that uses up what the mark says was used.
func (w *writer) spent(r *request) error {
	w.conn.touched = w.conn.touched[:0]
	undone, err := marked.Spent(w.guarded.mark, &r.batch, w.conn)
	w.guarded.undone = w.guarded.undone || undone
	return err
}

// rowsOf writes all of a request but its events, and returns the rows that restrict as they are then.
func (w *writer) rowsOf(r *request) (set *restrict.Set, pruned int, err error) {
	if err := writeBatch(w.conn, w.set, &r.batch); err != nil {
		return nil, 0, err
	}
	if w.guarded.mark != nil {
		if r.uses, err = marked.Uses(&r.batch, w.conn); err != nil {
			return nil, 0, err
		}
	}
	if r.batch.Compact != 0 {
		if err := writeCompaction(w.conn, &r.batch, w.edge.size); err != nil {
			return nil, 0, err
		}
	}
	if r.batch.Prune {
		if pruned, err = prune(w.conn, r.batch.Age()); err != nil {
			return nil, 0, err
		}
	}
	set, err = retouch(w.conn, w.set)
	return set, pruned, err
}

// fatal reports whether an error says something about the database rather than about the batch.
func fatal(err error) bool {
	var se *sqlite3.Error
	return errors.As(err, &se) && se.Code() != sqlite3.CONSTRAINT && se.Code() != sqlite3.TOOBIG ||
		errors.Is(err, kernel.ErrDamaged)
}
