package belay

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/store/dry"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/phases"
)

// NoteDryRun stands in every verdict of a dry run.
const NoteDryRun = "dry run: nothing of this is recorded, used up or carried out"

// openDry opens what a dry run reads: the database for reading only, or nothing.
func (b *Belay) openDry(ctx context.Context) error {
	if !b.o.DryRun {
		return nil
	}
	if b.store != nil {
		b.store = dry.Store{Store: b.store}
		return nil
	}
	path := filepath.Join(b.dir, "belay.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		b.store = dry.Store{Store: memory.New()}
		return nil
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	b.store = dry.Store{Store: db}
	return nil
}

// unrecorded takes out of a dry run's verdict what names records that do not exist.
func (b *Belay) unrecorded(ctx context.Context, v phases.Verdict) phases.Verdict {
	if !b.o.DryRun {
		return v
	}
	v.Event = nil
	if v.Approval != nil {
		if it, err := b.store.Approval(ctx, v.Approval.ID); err != nil || it == nil {
			v.Approval = nil
		}
	}
	v.Notes = append(v.Notes, NoteDryRun)
	return v
}

// markSettings says where checkpoints go: for records in memory nowhere. A checkpoint
// of them would contradict those of the event log.
func (b *Belay) markSettings() config.Events {
	if b.o.InMemory {
		return config.Events{}
	}
	return b.file.Events
}
