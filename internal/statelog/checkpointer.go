package statelog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
)

// Defaults of how often checkpoints are signed.
const (
	checkpointEvents  = 1000
	checkpointSeconds = 60
)

// Checkpointer is the store as the kernel sees it: it signs a checkpoint after
// so many events or so much time and at the end, and refuses commits while a
// required file for checkpoints cannot be written. Safe for concurrent use.
type Checkpointer struct {
	kernel.Store
	key  *eventlog.Key
	log  *slog.Logger
	poke chan struct{}
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex
	set     config.Events
	files   []CheckpointFile
	pending int64 // events of this process since its last checkpoint

	writing sync.Mutex // one checkpoint at a time

	activity Activity
}

// CheckpointFile is one file of checkpoints.
type CheckpointFile struct {
	config.CheckpointFile
	Failed error // why the last checkpoint could not be written; nil when it could
}

// NewCheckpointer returns the store with the checkpoints that set wants. Finish ends it.
func NewCheckpointer(s kernel.Store, key *eventlog.Key, set config.Events, log *slog.Logger) *Checkpointer {
	c := &Checkpointer{Store: s, key: key, log: log, poke: make(chan struct{}, 1), quit: make(chan struct{}),
		done: make(chan struct{})}
	c.Use(set)
	go c.run()
	return c
}

// Use takes other settings into use. A file that cannot be opened counts as failed
// from the start.
func (c *Checkpointer) Use(set config.Events) {
	var files []CheckpointFile
	for _, f := range set.CheckpointFiles() {
		files = append(files, CheckpointFile{f, appendFile(f.Path, nil)})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set, c.files = set, files
}

func (c *Checkpointer) every() (events int64, each time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.set.Checkpoint
	return cmp.Or(set.Every, checkpointEvents), time.Duration(cmp.Or(set.Seconds, checkpointSeconds)) * time.Second
}

// State returns the files and how they stand.
func (c *Checkpointer) State() []CheckpointFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.files)
}

// blocked returns why nothing may be committed now: a required file that
// failed.
func (c *Checkpointer) blocked() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.files {
		if f.Required && f.Failed != nil {
			return fmt.Errorf("the required checkpoint file %s: %w", f.Path, f.Failed)
		}
	}
	return nil
}

// Commit implements kernel.Store.
func (c *Checkpointer) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if c.blocked() != nil {
		_ = c.write(ctx, true)
		if err := c.blocked(); err != nil {
			return kernel.Receipt{}, fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
		}
	}
	r, err := c.Store.Commit(ctx, b)
	if err == nil && len(b.Events) > 0 {
		c.activity.note(b.Events, r.First)
		limit, _ := c.every()
		c.mu.Lock()
		c.pending += int64(len(b.Events))
		due := c.pending >= limit
		c.mu.Unlock()
		if due {
			select {
			case c.poke <- struct{}{}:
			default: // already asked for
			}
		}
	}
	return r, err
}

func (c *Checkpointer) run() {
	defer close(c.done)
	for {
		_, each := c.every()
		t := time.NewTimer(each)
		select {
		case <-c.quit:
			t.Stop()
			return
		case <-c.poke:
			t.Stop()
		case <-t.C:
		}
		if err := c.write(context.Background(), false); err != nil {
			c.log.Error("a checkpoint of the event log could not be written", slog.Any("error", err))
		}
	}
}

// write signs a checkpoint and puts it into the store and the files. Without
// events of its own since the last one it writes nothing, unless forced because a
// file failed.
func (c *Checkpointer) write(ctx context.Context, force bool) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	pending, files := c.pending, slices.Clone(c.files)
	c.mu.Unlock()
	failed := slices.ContainsFunc(files, func(f CheckpointFile) bool { return f.Failed != nil })
	if pending == 0 && !(force && failed) {
		return nil
	}
	// Nothing is signed about a database that went back.
	if s, ok := c.Store.(interface{ CheckMark(context.Context) error }); ok {
		if err := s.CheckMark(ctx); err != nil {
			return err
		}
	}
	mark, note, err := eventlog.Mark(ctx, c.Store, c.key, time.Now())
	if err == nil {
		err = c.Store.AddCheckpoint(ctx, mark.Size, note)
	}
	if err != nil {
		return err
	}
	for i := range files {
		files[i].Failed = appendFile(files[i].Path, append(note[:len(note):len(note)], '\n'))
		if files[i].Failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", files[i].Path, files[i].Failed))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// A file that failed gets a checkpoint again with the next one, which
	// covers the missing one, too.
	c.pending -= pending
	for i, f := range c.files {
		for _, tried := range files {
			if tried.CheckpointFile == f.CheckpointFile {
				c.files[i].Failed = tried.Failed
			}
		}
	}
	return err
}

// cutShort stands behind a checkpoint that a crash or a full disk cut short, so
// that it is not taken for a forged one.
const cutShort = "cut short"

// appendFile appends durably; with nothing to append it finds out whether it could.
// The file may allow nothing but appending. Processes take turns, or the end that one
// is writing would look cut short to another.
func appendFile(path string, b []byte) error {
	f, err := statedir.OpenLocked(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if len(b) > 0 {
		if err = endOf(f, &b); err == nil {
			_, err = f.Write(b)
		}
		if err == nil {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
}

// endOf puts a mark before b where the file ends in the middle of a checkpoint.
func endOf(f *os.File, b *[]byte) error {
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return err
	}
	end := make([]byte, 2)
	if n, err := f.ReadAt(end, max(0, fi.Size()-2)); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if string(end[:n]) != "\n\n" {
		*b = append([]byte("\n"+cutShort+"\n\n"), *b...)
	}
	return nil
}

// splitMarks cuts a file of checkpoints into those that were written whole.
func splitMarks(src []byte) [][]byte {
	return slices.DeleteFunc(eventlog.Split(src), func(note []byte) bool {
		return bytes.HasSuffix(bytes.TrimRight(note, "\n"), []byte("\n"+cutShort))
	})
}

// Finish signs the last checkpoint. Preconditions: the last commit has returned, and
// Finish was not called before.
func (c *Checkpointer) Finish() error {
	close(c.quit)
	<-c.done
	err := c.write(context.Background(), false)
	if err != nil && c.blocked() == nil {
		c.log.Error("the last checkpoint of the event log could not be written", slog.Any("error", err))
		return nil
	}
	return err
}
