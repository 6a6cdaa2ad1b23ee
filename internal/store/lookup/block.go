package lookup

import (
	"math/bits"

	"github.com/belay-hooks/belay/phases"
)

// Block is one block of the lookup.
type Block struct {
	Number      int64
	First, Last int64 // the earliest and the latest time of its events, in ns
	Terms       map[int64]*Places

	counts   [BlockEvents]uint16 // of terms, by place; only of one that was loaded
	digested digested            // of the event that was added, or compared, last
}

// NewBlock returns a block without events.
func NewBlock(number int64) *Block { return &Block{Number: number, Terms: map[int64]*Places{}} }

// Add puts an event in.
func (b *Block) Add(e *phases.Event) {
	_, at := BlockOf(e.Seq)
	ns := e.Time.UnixNano()
	if len(b.Terms) == 0 {
		b.First, b.Last = ns, ns
	}
	b.First, b.Last = min(b.First, ns), max(b.Last, ns)
	q := facts(e)
	for _, t := range b.digested.terms(&q) {
		p := b.Terms[t]
		if p == nil {
			p = new(Places)
			b.Terms[t] = p
		}
		p.Add(at)
	}
}

// Load puts a stored row in. A row that is none says nothing of any event.
func (b *Block) Load(term int64, events []byte) {
	p, ok := ParsePlaces(events)
	if !ok {
		p = Places{}
	}
	b.Terms[term] = &p
	for i, w := range p {
		for ; w != 0; w &= w - 1 {
			b.counts[64*i+bits.TrailingZeros64(w)]++
		}
	}
}

// Holds reports whether the event is found under its own values, and under no other, in a block whose rows were
// loaded.
func (b *Block) Holds(e *phases.Event) bool {
	_, at := BlockOf(e.Seq)
	if ns := e.Time.UnixNano(); ns < b.First || ns > b.Last {
		return false
	}
	q := facts(e)
	own := b.digested.terms(&q)
	for _, t := range own {
		if p := b.Terms[t]; p == nil || !p.Has(at) {
			return false
		}
	}
	return int(b.counts[at]) == len(own)
}
