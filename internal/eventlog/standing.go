package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Standing is what the log alone says of the rows that restrict, as far as they can be
// made again from it.
type Standing struct {
	Latches   []kernel.Latch   // oldest first
	Compacted kernel.Compacted // what signed statements gave up; Left is not set
	Denied    []Denial         // by people, oldest first
	Newest    time.Time        // the latest time of an event

	Compactions map[string]kernel.Compacted // of each kernel; only of ReadStandings, which sets no Compacted

	// Doubts say why the log is not all that was recorded: events that are missing or are
	// not those of the tree. Such an event counts for nothing, and may have latched a session.
	Doubts []string
}

// Denial is an answer of a person that the log records. The log holds a digest of the item, not the item.
type Denial struct {
	Approval string
	At       time.Time
}

// maxDoubts is how many doubts are named.
const maxDoubts = 5

// ReadStanding reads the whole log. Each event is held against its leaf, and all leaves against
// the root of the tree: what does not fit is a doubt and no error. The error is ErrLog.
func ReadStanding(ctx context.Context, log kernel.Log, verifier string) (Standing, error) {
	r, err := readStanding(ctx, log, verifier)
	if err != nil {
		return Standing{}, err
	}
	return r.out, nil
}

func readStanding(ctx context.Context, log kernel.Log, verifier string) (*standingReader, error) {
	size, err := log.LogSize(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	r := &standingReader{log: log, verifier: verifier, size: size}
	for {
		leaves, err := log.LogLeaves(ctx, r.after, page)
		if err == nil {
			err = r.page(ctx, leaves)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLog, err)
		}
		if len(leaves) == 0 {
			break
		}
	}
	if err := r.end(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLog, err)
	}
	r.out.Latches = r.held.latches()
	return r, nil
}

type standingReader struct {
	log      kernel.Log
	verifier string
	size     int64
	after    int64 // the last number that was read
	next     int64 // the last event that was read and has a place in the tree
	first    int64 // the first; 0: none yet
	held     holding
	tops     []tlog.Hash // of perfect subtrees over the leaves so far, the largest first
	levels   []int
	doubts   int
	root     *tlog.Hash // of the compacted events, as the newest statement of a compaction signs it
	out      Standing
}

func (r *standingReader) doubt(format string, args ...any) {
	if r.doubts++; r.doubts <= maxDoubts {
		r.out.Doubts = append(r.out.Doubts, fmt.Sprintf(format, args...))
	}
}

func (r *standingReader) page(ctx context.Context, leaves []kernel.LogLeaf) error {
	var at []int64
	for _, l := range leaves {
		if l.Seq <= r.size {
			at = append(at, tlog.StoredHashIndex(0, l.Seq-1))
		}
	}
	stored, err := r.log.LogHashes(ctx, at)
	if err != nil {
		return err
	}
	for _, l := range leaves {
		r.after = l.Seq
		if l.Seq > r.size {
			r.doubt("event %d has no place in the tree", l.Seq)
			continue
		}
		if r.first == 0 {
			r.first = l.Seq
		} else if l.Seq != r.next+1 {
			r.doubt("events %d to %d are missing", r.next+1, l.Seq-1)
		}
		if err := r.grow(ctx, r.next, l.Seq-1); err != nil { // the hashes of missing events are stored
			return err
		}
		r.next = l.Seq
		r.leaf(&l, stored[0])
		stored = stored[1:]
	}
	return nil
}

// leaf reads an event whose place in the tree has the stored hash.
func (r *standingReader) leaf(l *kernel.LogLeaf, stored tlog.Hash) {
	r.add(stored)
	var e phases.Event
	if tlog.RecordHash(l.Body) != stored || json.Unmarshal(l.Body, &e) != nil || e.Seq != l.Seq {
		r.doubt("event %d is not the one that was recorded", l.Seq)
		return
	}
	if e.Time.After(r.out.Newest) {
		r.out.Newest = e.Time.UTC()
	}
	switch e.Type {
	case phases.EventLatch:
		r.held.step(l.Seq, e)
	case phases.EventApproval:
		if id, ok := phases.GetString(e.Output, "/approval"); ok && e.Decision == "denied" {
			r.out.Denied = append(r.out.Denied, Denial{Approval: id, At: e.Time.UTC()})
		}
	case phases.EventCompaction:
		s, err := announced(l.Body, r.verifier)
		if err != nil {
			r.doubt("event %d announces a compaction that is not signed", l.Seq)
			return
		}
		r.held.carry(s.Carried)
		if s.Size > r.out.Compacted.Through {
			r.out.Compacted = kernel.Compacted{Through: s.Size, Event: l.Seq}
			root := s.Root
			r.root = &root
		}
	}
}

// grow adds the stored hashes of the events after the first number up to the last.
func (r *standingReader) grow(ctx context.Context, after, last int64) error {
	for after < last {
		var at []int64
		for n := after; n < min(last, after+page); n++ {
			at = append(at, tlog.StoredHashIndex(0, n))
		}
		found, err := r.log.LogHashes(ctx, at)
		if err != nil {
			return err
		}
		for _, h := range found {
			r.add(h)
		}
		after += int64(len(at))
	}
	return nil
}

func (r *standingReader) add(h tlog.Hash) {
	level := 0
	for n := len(r.tops) - 1; n >= 0 && r.levels[n] == level; n-- {
		h = tlog.NodeHash(r.tops[n], h)
		r.tops, r.levels = r.tops[:n], r.levels[:n]
		level++
	}
	r.tops, r.levels = append(r.tops, h), append(r.levels, level)
}

// end compares the leaves with the tree, and doubts a log that lacks events at either end.
func (r *standingReader) end(ctx context.Context) error {
	if r.next < r.size {
		r.doubt("events %d to %d are missing", r.next+1, r.size)
		if err := r.grow(ctx, r.next, r.size); err != nil {
			return err
		}
	}
	given := r.out.Compacted.Through
	switch missing := r.first - 1; {
	case missing > given:
		r.doubt("events %d to %d are missing", given+1, missing)
	case missing > r.held.known:
		r.doubt("events 1 to %d were compacted without saying which sessions were latched", missing)
	}
	if r.root != nil {
		root, err := tlog.TreeHash(given, hashes(ctx, r.log))
		if err != nil {
			return err
		}
		if root != *r.root {
			r.doubt("events 1 to %d are not those that were compacted", given)
		}
	}
	if r.size == 0 {
		return nil
	}
	want, err := tlog.TreeHash(r.size, hashes(ctx, r.log))
	if err != nil {
		return err
	}
	n := len(r.tops) - 1
	root := r.tops[n]
	for n--; n >= 0; n-- {
		root = tlog.NodeHash(r.tops[n], root)
	}
	if root != want {
		r.doubt("the tree does not fit its leaves")
	}
	if more := r.doubts - len(r.out.Doubts); more > 0 {
		r.out.Doubts = append(r.out.Doubts, fmt.Sprintf("and %d more", more))
	}
	return nil
}
