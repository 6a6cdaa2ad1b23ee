package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/belay-hooks/belay/kernel"
)

const (
	page     = 64        // events read from the store at once
	maxWrite = 256 << 10 // bytes in one write, unless one event is larger
)

// Options are the settings of one file.
type Options struct {
	Path   string // absolute
	Sync   bool   // sync before an event counts as written
	Rotate int64  // bytes at which a new file is begun; 0: never
	Keep   int    // rotated files that stay; 0: all
}

// File is one file of JSON lines. It is safe for concurrent use, and several
// processes may write to the same one.
type File struct {
	o    Options
	log  Source
	disk disk

	mu   sync.Mutex
	h    handle // nil: not open
	end  int64  // where the next line goes; what stands before is written, and synced if it has to be
	seq  int64  // of the last line
	sure bool   // end and seq are known
	shut bool

	// doubt: a sync has failed. Systems then take for clean what never came to the
	// disk, so that it has to be written again, not only synced again.
	doubt bool
}

var errClosed = errors.New("closed")

// NewFile returns the file; nothing is opened before Follow.
func NewFile(log Source, o Options) *File { return newFile(log, o, osDisk{}) }

func newFile(log Source, o Options, d disk) *File { return &File{o: o, log: log, disk: d} }

// Follow brings the file to where the store is, and at least to event seq, which
// the store must have. When it returns without an error, every event up to seq is
// in the file, and durable if Options.Sync says so. After an error nothing is known
// about the events that were not in it before; calling it again tries again.
//
// Errors are ErrForeign, ErrBehind, those of the store, or those of the system.
func (f *File) Follow(ctx context.Context, seq int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shut {
		return errClosed
	}
	if f.sure && f.h != nil && seq > 0 && f.seq >= seq && f.h.current(f.o.Path) {
		return nil // another call has written it, too
	}
	err := f.follow(ctx, seq)
	if err != nil {
		f.drop()
	}
	return err
}

// Seq returns the number of the last event that is known to be in the file.
func (f *File) Seq() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq
}

// Close lets go of the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut = true
	if f.h == nil {
		return nil
	}
	h := f.h
	f.h, f.sure = nil, false
	return h.Close()
}

// drop forgets the state of the file: the next try begins with looking at it.
func (f *File) drop() {
	if f.h != nil {
		_ = f.h.Close() // unlocks, too
	}
	f.h, f.sure = nil, false
}

func (f *File) follow(ctx context.Context, seq int64) error {
	if err := f.take(); err != nil {
		return err
	}
	size, err := f.h.size()
	if err != nil {
		return err
	}
	if !f.sure || size != f.end { // new, or another process has written
		if err := f.look(ctx, size); err != nil {
			return err
		}
	}
	for more := true; more; {
		if more, err = f.append(ctx); err != nil {
			return err
		}
	}
	if f.seq < seq {
		return fmt.Errorf("%w: the file has event %d, %d is wanted", ErrBehind, f.seq, seq)
	}
	f.sure, f.doubt = true, false
	return f.h.unlock()
}

// take opens and locks the file that the path names now.
func (f *File) take() error {
	for {
		if f.h == nil {
			h, err := f.disk.open(f.o.Path)
			if err != nil {
				return err
			}
			f.h, f.sure = h, false
			// Also when it was there: who made or rotated it may have ended before its
			// name was safe.
			if f.o.Sync {
				if err := f.disk.sync(f.o.Path); err != nil {
					return err
				}
			}
		}
		if err := f.h.lock(); err != nil {
			return err
		}
		if f.h.current(f.o.Path) {
			return nil
		}
		f.drop() // rotated or moved away meanwhile
	}
}

// append writes the next events, if there are any, with one write; more says that
// there may be others.
func (f *File) append(ctx context.Context) (more bool, err error) {
	leaves, err := f.log.LogLeaves(ctx, f.seq, page)
	if err != nil || len(leaves) == 0 {
		return false, err
	}
	text, last, err := f.lines(leaves)
	if err != nil {
		return false, err
	}
	if f.o.Rotate > 0 && f.end > 0 && f.end+int64(len(text)) > f.o.Rotate {
		return true, f.rotate(ctx)
	}
	_, err = f.h.WriteAt(text, f.end)
	if err == nil && f.o.Sync {
		err = f.sync()
	}
	if err != nil {
		// The part that is in the file now can be read, but a power cut may
		// lose it: it does not count as written.
		return false, errors.Join(err, f.h.Truncate(f.end))
	}
	f.end += int64(len(text))
	f.seq = last
	return last < leaves[len(leaves)-1].Seq || len(leaves) == page, nil
}

func (f *File) sync() error {
	err := f.h.Sync()
	if err != nil {
		f.doubt = true
	}
	return err
}

// lines returns the next lines for one write.
func (f *File) lines(leaves []kernel.LogLeaf) (text []byte, last int64, err error) {
	last = f.seq
	for _, l := range leaves {
		// A file that has nothing yet begins where the store does; afterwards nothing
		// may be left out.
		if l.Seq != last+1 && last != 0 {
			return nil, 0,
				fmt.Errorf("%w: it ends with event %d, and the next one that the store has is %d; move the file away to begin another", ErrForeign, last, l.Seq)
		}
		if len(text) > 0 && len(text)+len(l.Body) > maxWrite {
			break
		}
		text = append(append(text, l.Body...), '\n')
		last = l.Seq
	}
	return text, last, nil
}

// rotate gives the file its final name, which holds the number of its last event,
// and begins a new one.
func (f *File) rotate(ctx context.Context) error {
	if err := f.sync(); err != nil {
		return err
	}
	if err := f.disk.rename(f.o.Path, fmt.Sprintf("%s.%016d", f.o.Path, f.seq)); err != nil {
		return err
	}
	f.drop()
	if err := f.take(); err != nil {
		return err
	}
	// Another process may have begun it already.
	size, err := f.h.size()
	if err == nil {
		err = f.look(ctx, size)
	}
	if err != nil {
		return err
	}
	return f.prune()
}

// prune removes rotated files beyond those that are kept.
func (f *File) prune() error {
	if f.o.Keep == 0 {
		return nil
	}
	old, err := f.rotated()
	if err != nil {
		return err
	}
	for len(old) > f.o.Keep {
		if err := f.disk.remove(old[0]); err != nil {
			return err
		}
		old = old[1:]
	}
	return nil
}
