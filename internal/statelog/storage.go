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
	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
)

// StorageOptions say where the events of a host go.
type StorageOptions struct {
	Store    kernel.Store // nil means that of belay.yaml, or belay.db; one that is given is not closed
	DryRun   bool         // reads stored rows, and writes nothing
	InMemory bool         // events go to memory, or to a Store that is not durable, and into no file
	NoMark   bool         // see DatabaseOptions
	MoveMark bool         // see DatabaseOptions.Move
	Unusable error        // why belay.yaml cannot be used; nil when it can
	Version  string       // of the program, for those who look at the kernels that share a store
	Logger   *slog.Logger // never nil
}

// Storage is where the events of a host go: the store, the checkpoints of its log, and the
// files that follow it. Safe for concurrent use, but for Finish and Close.
type Storage struct {
	Store    kernel.Store // the log itself, for verifying and compacting
	Database *Database    // nil: Store is another one
	Front    *sink.Set    // the target of commits: when it returns, the event is everywhere where it has to be

	dir         string
	file        *config.File // as it was at the start
	o           StorageOptions
	checkpoints *Checkpointer
	finished    bool
}

// OpenStorage opens the store of the state directory dir, or the one that f names, and the files of its events. Records
// in memory go into no file: a checkpoint of them would contradict those of the event log. Errors are
// config.ErrUnusable, statedir.ErrUnusable or kernel.ErrUnavailable.
func OpenStorage(ctx context.Context, dir string, key *eventlog.Key, f *config.File,
	o StorageOptions) (*Storage, error) {
	s := &Storage{dir: dir, file: f, o: o}
	e := &f.Events
	if err := s.open(ctx, key, e.HighWater); err != nil {
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

// Activity is what came into the log lately.
func (s *Storage) Activity() *Activity { return &s.checkpoints.activity }

// open opens the store. With an error s.Store is nil.
func (s *Storage) open(ctx context.Context, key *eventlog.Key, mark string) (err error) {
	if s.o.Store == nil && (s.o.DryRun || !s.o.InMemory) {
		if err := config.StoreKnown(s.dir, s.o.Unusable); err != nil {
			return err
		}
	}
	switch shared := s.file.Central(); {
	case s.o.DryRun:
		s.Store, err = openDry(ctx, s.dir, s.o.Store, shared)
	case s.o.Store != nil:
		s.Store = s.o.Store
	case s.o.InMemory:
		s.Store = memory.New()
	case shared != nil && direct(s.file) != nil:
		if s.Database, err = s.openCentral(ctx, shared, key, mark); err == nil {
			s.Store = s.Database
		}
	default:
		o := DatabaseOptions{NoMark: s.o.NoMark, MarkIn: mark, Move: s.o.MoveMark, Logger: s.o.Logger}
		if s.Database, err = OpenDatabase(ctx, s.dir, o); err == nil && shared != nil {
			err = s.forward(ctx, shared, key, mark)
		}
		if err == nil {
			s.Store = s.Database // and no nil *Database otherwise
		}
	}
	return err
}

// openDry opens what a dry run reads: the store that is given, else the one that kernels share or belay.db, for reading
// only, or nothing.
func openDry(ctx context.Context, dir string, given kernel.Store, shared *config.Postgres) (kernel.Store, error) {
	if given != nil {
		return dry.Store{Store: given}, nil
	}
	local := shared != nil && shared.Settings().Local
	if shared != nil && !local {
		db, err := openCentralReadOnly(ctx, shared)
		if err != nil {
			return nil, err
		}
		return dry.Store{Store: db}, nil
	}
	path := databasePath(dir)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return dry.Store{Store: memory.New()}, nil
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if local {
		return dry.Store{Store: forward.OpenReadOnly(db, PostgresOptions(shared, ""))}, nil
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

// Prepare looks at another belay.yaml, and returns what takes its files of events into use. One that names another
// store is refused, and so is one that cannot be used, for the reason unusable, where a store was named. The error is
// config.ErrUnusable, or unusable.
func (s *Storage) Prepare(f *config.File, unusable error) (use func(), err error) {
	e := &f.Events
	if s.o.Store == nil && !s.o.InMemory {
		if err := s.sameStore(f, unusable); err != nil {
			return nil, err
		}
	}
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
