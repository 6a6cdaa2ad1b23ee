package postgres

import (
	"maps"
	"sync"

	"github.com/belay-hooks/belay/internal/store/lookup"
	"github.com/belay-hooks/belay/phases"
)

// maxFresh bounds the blocks that are kept for the indexer; one that is not kept is read from the database.
const maxFresh = 4

// fresh are blocks of the lookup of which this process has just written every event. The indexer takes them from here,
// so that a busy kernel does not read back all that it writes.
type fresh struct {
	open *lookup.Block // nil: the next event is not in a block that this process has begun
	next int64         // the number of that event

	mu   sync.Mutex
	full map[int64]*lookup.Block // by number
}

// add takes events that are durable, in the order of the log. Only the writer calls it.
func (f *fresh) add(first int64, events []phases.Event) {
	for i := range events {
		e := events[i]
		e.Seq = first + int64(i)
		number, at := lookup.BlockOf(e.Seq)
		switch {
		case at == 0:
			f.open = lookup.NewBlock(number)
		case e.Seq != f.next:
			f.open = nil
		}
		f.next = e.Seq + 1
		if f.open == nil {
			continue
		}
		f.open.Add(&e)
		if at == lookup.BlockEvents-1 {
			f.keep(f.open)
			f.open = nil
		}
	}
}

func (f *fresh) keep(b *lookup.Block) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full == nil {
		f.full = map[int64]*lookup.Block{}
	}
	if len(f.full) < maxFresh {
		f.full[b.Number] = b
	}
}

// take returns a block, or nil, and gives up the ones before it.
func (f *fresh) take(number int64) *lookup.Block {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.full[number]
	maps.DeleteFunc(f.full, func(n int64, _ *lookup.Block) bool { return n <= number })
	return b
}
