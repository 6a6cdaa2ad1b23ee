package eventlog

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventbytes"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// readLeaf is what comes of the bytes of a leaf alone.
type readLeaf struct {
	hash tlog.Hash
	head phases.Event
	err  error // the bytes are no event
}

// leafPage is some events that follow each other, with what they are compared with.
type leafPage struct {
	leaves []kernel.LogLeaf
	stored []tlog.Hash // that they have brought into the tree; nil: they could not be read
	failed error       // why
	read   []readLeaf
	done   chan struct{} // closed when read is filled
}

// page reads the events behind the first n and has their bytes looked at on another processor.
func (v *verifier) page(ctx context.Context, n, size int64) (*leafPage, error) {
	leaves, err := v.log.LogLeaves(ctx, n, int(min(page-n%page, size-n)))
	if err != nil {
		return nil, err
	}
	p := &leafPage{leaves: leaves, read: make([]readLeaf, len(leaves)), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		before := new(phases.Event)
		for i := range p.leaves {
			r := &p.read[i]
			r.hash, r.err = tlog.RecordHash(p.leaves[i].Body), eventbytes.HeadAfter(p.leaves[i].Body, &r.head, before)
			before = &r.head
		}
	}()
	if len(leaves) > 0 {
		p.stored, p.failed = v.stored(ctx, n, n+int64(len(leaves)))
	}
	return p, nil
}

// events compares all events that are left. While one page is looked at, the next one is read.
func (v *verifier) events(ctx context.Context, size int64) error {
	var now *leafPage
	for v.tree.size < size && v.report.Wrong == nil {
		n := v.tree.size
		var err error
		if now == nil {
			if now, err = v.page(ctx, n, size); err != nil {
				return err
			}
		}
		if len(now.leaves) == 0 || now.leaves[0].Seq != n+1 {
			now = nil
			// A compaction may be under way.
			if err := v.removed(ctx, size); err != nil || v.tree.size > n {
				if err != nil {
					return err
				}
				continue
			}
			v.wrong(n+1, n+1, "event %d is missing", n+1)
			return nil
		}
		var next *leafPage
		if after := n + int64(len(now.leaves)); after < size {
			next, err = v.page(ctx, after, size)
		}
		v.compared(ctx, now)
		if err != nil && v.report.Wrong == nil {
			return err
		}
		now = next
	}
	return nil
}

// compared compares the events of a page. Where the hashes of the page cannot be read at once,
// those of each event are asked for, so that the event is named.
func (v *verifier) compared(ctx context.Context, p *leafPage) {
	<-p.done
	stored, first := p.stored, v.tree.size+1
	for i, l := range p.leaves {
		if stored = v.leaf(ctx, l, &p.read[i], stored); v.report.Wrong != nil {
			return
		}
		if p.failed != nil {
			stored = nil
		}
	}
	if p.failed != nil {
		v.wrong(first, v.tree.size, "events %d to %d: their hashes in the tree cannot be read: %v", first, v.tree.size,
			p.failed)
	}
}
