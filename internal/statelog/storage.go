package statelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/dry"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
)

// StorageOptions say where the events of a host go.
type StorageOptions struct {
	Store    kernel.Store // nil means belay.db; one that is given is not closed
	DryRun   bool         // reads stored rows, and writes nothing
	InMemory bool         // events go to memory, or to a Store that is not durable, and into no file
	NoMark   bool         // see DatabaseOptions
	MoveMark bool         // see DatabaseOptions.Move
	Logger   *slog.Logger // never nil
}

// Storage is where the events of a host go: the store, the checkpoints of its log, and the
// files that follow it. Safe for concurrent use, but for Finish and Close.
type Storage struct {
	Store    kernel.Store // the log itself, for verifying and compacting
	Database *Database    // nil: Store is another one
	Front    *sink.Set    // the target of commits: when it returns, the event is everywhere where it has to be

	dir         string
	o           StorageOptions
	checkpoints *Checkpointer
	finished    bool
}

// OpenStorage opens the store of the state directory dir, and the files of e. Records in
// memory go into no file: a checkpoint of them would contradict those of the event log. Errors are
// config.ErrUnusable, statedir.ErrUnusable or kernel.ErrUnavailable.
func OpenStorage(ctx context.Context, dir string, key *eventlog.Key, e *config.Events,
	o StorageOptions) (*Storage, error) {
	s := &Storage{dir: dir, o: o}
	if err := s.open(ctx, e.HighWater); err != nil {
		return nil, err
	}
	files, err := s.files(e)
	if v, ok := s.Store.(interface{ Durable() bool }); ok && !v.Durable() && !o.InMemory {
		err = fmt.Errorf("%w: no sink is durable: the store keeps events in memory only", statedir.ErrUnusable)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.checkpoints = NewCheckpointer(s.Store, key, s.checkpointSettings(e), o.Logger)
	newID := func(at time.Time) string { return uuid.Must(uuid.NewV7AtTime(at)).String() }
	s.Front = sink.New(s.checkpoints, files, newID, o.Logger)
	return s, nil
}

// open opens the store. With an error s.Store is nil.
func (s *Storage) open(ctx context.Context, mark string) (err error) {
	switch {
	case s.o.DryRun:
		s.Store, err = openDry(ctx, s.dir, s.o.Store)
	case s.o.Store != nil:
		s.Store = s.o.Store
	case s.o.InMemory:
		s.Store = memory.New()
	default:
		o := DatabaseOptions{NoMark: s.o.NoMark, MarkIn: mark, Move: s.o.MoveMark, Logger: s.o.Logger}
		if s.Database, err = OpenDatabase(ctx, s.dir, o); err == nil {
			s.Store = s.Database // and no nil *Database otherwise
		}
	}
	return err
}

// openDry opens what a dry run reads: the store that is given, else belay.db for reading only, or nothing.
func openDry(ctx context.Context, dir string, given kernel.Store) (kernel.Store, error) {
	if given != nil {
		return dry.Store{Store: given}, nil
	}
	path := databasePath(dir)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return dry.Store{Store: memory.New()}, nil
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return dry.Store{Store: db}, nil
}

func (s *Storage) files(e *config.Events) ([]sink.Setting, error) {
	if s.o.InMemory {
		return nil, nil
	}
	set, err := sink.Settings(s.dir, e)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	return set, nil
}

func (s *Storage) checkpointSettings(e *config.Events) config.Events {
	if s.o.InMemory {
		return config.Events{}
	}
	return *e
}

// Prepare looks at other settings, and returns what takes them into use. The error is
// config.ErrUnusable.
func (s *Storage) Prepare(e *config.Events) (use func(), err error) {
	files, err := s.files(e)
	if err != nil {
		return nil, err
	}
	return func() {
		s.checkpoints.Use(s.checkpointSettings(e))
		s.Front.Use(files)
	}, nil
}

// Finish writes what waits into the files, and signs the last checkpoint. It does so once.
// Preconditions: the last commit has returned.
func (s *Storage) Finish() error {
	if s.finished {
		return nil
	}
	s.finished = true
	s.Front.Finish()
	return s.checkpoints.Finish()
}

// Close closes the store, unless it was given. Preconditions: Finish has returned, or
// OpenStorage fails.
func (s *Storage) Close() error {
	if s.o.Store != nil {
		return nil
	}
	return s.Store.Close()
}
