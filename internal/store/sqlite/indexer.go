package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/phases"
)

// indexPause is how long the indexer leaves the database alone between two blocks, so that a
// log of an earlier version, all of whose blocks are missing, does not keep commits waiting.
const indexPause = 2 * time.Millisecond

// firstLook is when the indexer looks for missing blocks although nothing was written. Processes
// that are soon over do without. afterFailure is when it tries again.
const (
	firstLook    = time.Second
	afterFailure = 30 * time.Second
)

// indexer makes the missing blocks of the lookup, the oldest first, whenever it is woken. What
// it has done stands in the database: it goes on from there after a crash, and several
// processes make each block once. A block that cannot be made is tried again after a while;
// until then its events are searched without the lookup.
func (s *Store) indexer() {
	defer close(s.indexed)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first := time.NewTimer(firstLook)
	defer first.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-first.C:
		case <-s.wake:
		}
		for more := true; more; {
			select {
			case <-s.stop:
				return
			case <-time.After(indexPause):
			}
			var err error
			if more, err = s.indexBlock(ctx); err != nil {
				first.Reset(afterFailure)
				break
			}
		}
	}
}

// due wakes the indexer when a block is complete that it has not seen yet. Only the writer
// calls it.
func (s *Store) due(size int64) {
	if blocks := size / lookup.BlockEvents; blocks > s.complete {
		s.complete = blocks
		select {
		case s.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// nextBlock returns the block that is to be made next, and whether its events are there.
func nextBlock(c *conn) (number int64, ready bool, err error) {
	size, _, err := treeSize(c)
	if err != nil {
		return 0, false, err
	}
	err = c.query(`SELECT coalesce((SELECT max(block)+1 FROM lookup_blocks), 0),
		coalesce((SELECT min(seq) FROM events), 1)`, func(st *sqlite3.Stmt) error {
		oldest, _ := lookup.BlockOf(max(1, st.ColumnInt64(1))) // what was compacted is not looked up
		number = max(st.ColumnInt64(0), oldest)
		return nil
	})
	return number, err == nil && (number+1)*lookup.BlockEvents <= size, err
}

// indexBlock makes one block. It reads beside the writer, which then only stores the rows.
// more says that another one may be missing.
func (s *Store) indexBlock(ctx context.Context) (more bool, err error) {
	var b *lookup.Block
	err = s.readApart(ctx, "read events", func(c *conn) error {
		number, ready, err := nextBlock(c)
		if err != nil || !ready {
			return err
		}
		b, err = makeBlock(c, number)
		return err
	})
	if err != nil || b == nil {
		return false, err
	}
	return true, s.do(ctx, "store a block of the lookup",
		func(c *conn) error { return storeBlock(c, b) })
}

// makeBlock reads the events of a block. One that cannot be read is not found by the lookup;
// a verification names it.
func makeBlock(c *conn, number int64) (*lookup.Block, error) {
	b := lookup.NewBlock(number)
	from := &leaves{conn: c}
	e, before := new(phases.Event), new(phases.Event)
	row := func(st *sqlite3.Stmt) error {
		seq := st.ColumnInt64(0)
		leaf, err := from.leaf(from.last, seq, st.ColumnRawBlob(1))
		if err != nil && !errors.Is(err, errUnreadable) {
			return err
		}
		from.last = leaf
		if err == nil && eventbytes.HeadAfter(leaf, e, before) == nil && e.Seq == seq {
			b.Add(e)
		}
		e, before = before, e
		return nil
	}
	// The last ones first: a pack comes before the events whose texts are in it.
	err := c.query("SELECT seq, body FROM events WHERE seq > ? AND seq <= ? ORDER BY seq DESC", row, number*lookup.BlockEvents,
		(number+1)*lookup.BlockEvents)
	return b, err
}

// storeBlock writes the block, unless another process was faster.
func storeBlock(c *conn, b *lookup.Block) error {
	if number, ready, err := nextBlock(c); err != nil || !ready || number != b.Number {
		return err
	}
	all := make([]int64, 0, len(b.Terms))
	for t := range b.Terms {
		all = append(all, t)
	}
	slices.Sort(all)
	// A repair may have left rows of a block that is not known.
	if err := c.exec("DELETE FROM lookup WHERE block=?", b.Number); err != nil {
		return err
	}
	for _, t := range all {
		if err := c.exec("INSERT INTO lookup (block, term, events) VALUES (?, ?, ?)", b.Number, t,
			b.Terms[t].Bytes()); err != nil {
			return fmt.Errorf("block %d: %w", b.Number, err)
		}
	}
	return c.exec("INSERT INTO lookup_blocks (block, first_ns, last_ns) VALUES (?, ?, ?)", b.Number, b.First, b.Last)
}
