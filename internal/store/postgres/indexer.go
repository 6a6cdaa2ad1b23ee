package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func tamperedOf(err error) *kernel.Tampered {
	var t *kernel.Tampered
	errors.As(err, &t)
	return t
}

// indexPause is how long the indexer leaves the database alone between two blocks; afterFailure is when it
// tries again.
const (
	indexPause   = 2 * time.Millisecond
	afterFailure = 30 * time.Second
)

// grown wakes the indexer when a block may be complete. Only the writer calls it, and Open.
func (s *Store) grown(size int64) {
	blocks := size / lookup.BlockEvents
	if blocks <= s.complete {
		return
	}
	s.complete = blocks
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// indexer makes the missing blocks of the lookup, the oldest first. What it has done stands in the database: it goes
// on from there after a crash. A block that cannot be made is tried again after a while; until then
// its events are searched without the lookup.
func (s *Store) indexer() {
	defer close(s.indexed)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-s.stop
		cancel()
	}()
	retry := time.NewTimer(afterFailure)
	defer retry.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-retry.C:
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
				retry.Reset(afterFailure)
				break
			}
		}
	}
}

const nextBlock = `SELECT greatest(coalesce((SELECT max(block) + 1 FROM lookup_blocks WHERE kernel = k.id), 0),
	(k.first - 1) / $2), k.size FROM kernels k WHERE k.id = $1`

const eventsBetween = "SELECT seq, body FROM events WHERE kernel = $1 AND seq > $2 AND seq <= $3 ORDER BY seq"

// indexBlock makes one block. It reads beside the writer, which then only stores the rows. more says that another one
// may be missing.
func (s *Store) indexBlock(ctx context.Context) (more bool, err error) {
	var b *lookup.Block
	err = s.view(ctx, "read events", func(tx pgx.Tx) error {
		b = nil
		var number, size int64
		if err := tx.QueryRow(ctx, nextBlock, s.kernel, lookup.BlockEvents).Scan(&number, &size); err != nil {
			return err
		}
		if (number+1)*lookup.BlockEvents > size {
			return nil
		}
		if b = s.fresh.take(number); b == nil {
			b, err = readBlock(ctx, tx, s.kernel, number)
		}
		return err
	})
	if err != nil || b == nil {
		return false, err
	}
	var numbers []int16
	var terms [][]byte
	for n, d := range b.Drawers() {
		if d != nil {
			numbers, terms = append(numbers, int16(n)), append(terms, d)
		}
	}
	return true, s.do(ctx, "store a block of the lookup", func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SELECT add_block($1, $2, $3, $4, $5, $6, $7)", s.writes.held.kernel, s.writes.held.fence,
			b.Number, b.First, b.Last, numbers, terms)
		return err
	})
}

// readBlock makes a block from the events of the database.
func readBlock(ctx context.Context, q querier, kernel int32, number int64) (*lookup.Block, error) {
	b := lookup.NewBlock(number)
	rows, err := q.Query(ctx, eventsBetween, kernel, number*lookup.BlockEvents, (number+1)*lookup.BlockEvents)
	if err != nil {
		return nil, err
	}
	var seq int64
	var body []byte
	e, before := new(phases.Event), new(phases.Event)
	_, err = pgx.ForEachRow(rows, []any{&seq, &body}, func() error {
		if eventbytes.HeadAfter(body, e, before) == nil && e.Seq == seq {
			b.Add(e) // one that cannot be read is not found; a verification names it
		}
		e, before = before, e
		return nil
	})
	return b, err
}

const (
	blockTimes = "SELECT first_ns, last_ns FROM lookup_blocks WHERE kernel = $1 AND block = $2"
	blockTerms = "SELECT drawer, terms FROM lookup WHERE kernel = $1 AND block = $2"
)

// loadBlock reads a block; nil: there is none.
func loadBlock(ctx context.Context, q querier, kernel int32, number int64) (*lookup.Block, error) {
	b := lookup.NewBlock(number)
	err := q.QueryRow(ctx, blockTimes, kernel, number).Scan(&b.First, &b.Last)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(ctx, blockTerms, kernel, number)
	if err != nil {
		return nil, err
	}
	var drawer int
	var terms []byte
	_, err = pgx.ForEachRow(rows, []any{&drawer, &terms}, func() error {
		b.LoadDrawer(drawer, terms)
		return nil
	})
	return b, err
}
