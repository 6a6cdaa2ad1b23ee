package belay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/kernel"
)

// Defaults of how often checkpoints are signed.
const (
	checkpointEvents  = 1000
	checkpointSeconds = 60
)

// checkpointer is the store as the kernel sees it: it signs a checkpoint after
// so many events or so much time and at the end, and while a required file
// for checkpoints cannot be written it refuses what would go on record.
type checkpointer struct {
	kernel.Store
	key  *eventlog.Key
	log  *slog.Logger
	poke chan struct{}
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex
	set     config.Checkpoint
	pending int64 // events of this process since its last checkpoint
	failed  error // why the last checkpoint could not be written; nil when it could

	writing sync.Mutex // one checkpoint at a time
}

func newCheckpointer(s kernel.Store, key *eventlog.Key, set config.Checkpoint, log *slog.Logger) *checkpointer {
	c := &checkpointer{Store: s, key: key, log: log, poke: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	c.use(set)
	go c.run()
	return c
}

// use takes other settings into use. A required file that cannot be opened
// counts as failed from the start.
func (c *checkpointer) use(set config.Checkpoint) {
	var err error
	if set.File != "" {
		err = appendFile(set.File, nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set, c.failed = set, err
}

func (c *checkpointer) every() (events int64, each time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.set.Every, checkpointEvents), time.Duration(cmp.Or(c.set.Seconds, checkpointSeconds)) * time.Second
}

// Commit implements kernel.Store.
func (c *checkpointer) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	c.mu.Lock()
	blocked := c.set.Required && c.failed != nil
	c.mu.Unlock()
	if blocked {
		if err := c.write(ctx, true); err != nil {
			return kernel.Receipt{}, fmt.Errorf("%w: the required checkpoint file: %w", kernel.ErrUnavailable, err)
		}
	}
	r, err := c.Store.Commit(ctx, b)
	if err == nil && len(b.Events) > 0 {
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

func (c *checkpointer) run() {
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

// write signs a checkpoint and puts it into the file and the store. Without
// events of its own since the last one it writes nothing, unless forced.
func (c *checkpointer) write(ctx context.Context, force bool) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	pending, file, failed := c.pending, c.set.File, c.failed
	c.mu.Unlock()
	if pending == 0 && !(force && failed != nil) {
		return nil
	}
	err := c.mark(ctx, file)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = err
	if err == nil {
		c.pending -= pending
	}
	return err
}

func (c *checkpointer) mark(ctx context.Context, file string) error {
	mark, note, err := eventlog.Mark(ctx, c.Store, c.key, time.Now())
	if err != nil {
		return err
	}
	err = c.Store.AddCheckpoint(ctx, mark.Size, note)
	if file != "" {
		err = errors.Join(err, appendFile(file, append(note, '\n')))
	}
	return err
}

// appendFile appends durably; with nothing to append it finds out whether it could.
func appendFile(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if len(b) > 0 {
		if _, err = f.Write(b); err == nil {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
}

// finish signs the last checkpoint. Preconditions: nobody commits any more.
func (c *checkpointer) finish() error {
	close(c.quit)
	<-c.done
	err := c.write(context.Background(), false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && !c.set.Required {
		c.log.Error("the last checkpoint of the event log could not be written", slog.Any("error", err))
		return nil
	}
	return err
}
