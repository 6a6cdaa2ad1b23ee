package statelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
)

// PostgresOptions returns the options of the store that belay.yaml names.
func PostgresOptions(p *config.Postgres, version string) postgres.Options {
	s := p.Settings()
	return postgres.Options{DSNFile: p.DSNFile, Kernel: p.Kernel, Schema: p.Schema, Version: version,
		TLS: postgres.TLS(p.TLS), RootCert: p.RootCert, Readers: p.Readers, ConnectTimeout: s.ConnectTimeout,
		StatementTimeout: s.StatementTimeout, LockTimeout: s.LockTimeout, Hold: s.Hold}
}

// openCentral opens the store that kernels share, as the kernel of belay.yaml, whose log key signs, with its high-water
// mark: markIn is the directory of it, "" means the usual one. A database that went back is no error; see OpenDatabase.
func (s *Storage) openCentral(
	ctx context.Context,
	p *config.Postgres,
	key *eventlog.Key,
	markIn string,
) (*Database, error) {
	o := &s.o
	d, with := &Database{where: central(p)}, PostgresOptions(p, o.Version)
	with.CheckpointKey = key.Verifier()
	guard, err := s.kernelMark(p, markIn)
	if err != nil {
		return nil, err
	}
	if guard != nil {
		d.guard, with.Mark = guard, guard
	}
	db, err := postgres.Open(ctx, with)
	if err != nil {
		return nil, errors.Join(err, d.closeMark())
	}
	d.engine = db
	d.compare(ctx, o.Logger)
	return d, nil
}

// kernelMark returns the high-water mark about the store that kernels share; nil: none is kept.
func (s *Storage) kernelMark(p *config.Postgres, markIn string) (*highwater.Guard, error) {
	if s.o.NoMark {
		return nil, nil
	}
	guard, err := highwater.ForKernel(s.dir, p.Kernel, markIn, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("%w: events.high_water: %w", config.ErrUnusable, err)
	}
	if markIn != "" && s.o.MoveMark {
		if _, err := guard.Move(markIn); err != nil {
			return nil, errors.Join(statedir.Unusable("the high-water mark", err), guard.Close())
		}
	}
	return guard, nil
}

// openCentralReadOnly opens the store that kernels share for reading alone: the kernel's name is not taken, so that it
// may be in use.
func openCentralReadOnly(ctx context.Context, p *config.Postgres) (kernel.Store, error) {
	o := PostgresOptions(p, "")
	o.ReadOnly = true
	db, err := postgres.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return db, nil
}

// central says for people where the events of a kernel are that shares its store.
func central(p *config.Postgres) string {
	schema := p.Schema
	if schema == "" {
		schema = postgres.DefaultSchema
	}
	return fmt.Sprintf("PostgreSQL, schema %s, kernel %s", schema, p.Kernel)
}

// Shares reports whether the belay.yaml of the state directory dir names a store that kernels share.
func Shares(dir string) bool {
	f, _, err := config.Load(dir)
	return err == nil && f.Central() != nil
}

// Place says for people where the events of the state directory dir are.
func Place(dir string) string {
	if f, _, err := config.Load(dir); err == nil && direct(f) != nil {
		return central(f.Central())
	}
	return databasePath(dir)
}

// direct returns the PostgreSQL that has the log; nil: belay.db has it, and it may be forwarded.
func direct(f *config.File) *config.Postgres {
	if p := f.Central(); p != nil && !p.Settings().Local {
		return p
	}
	return nil
}

// LeftOver returns how many events lie in a belay.db of the state directory dir that is not used, since belay.yaml
// names a store that kernels share. 0: none do. An error says that there is such a file, and why it cannot be read.
func LeftOver(ctx context.Context, dir string, f *config.File) (events int64, err error) {
	if direct(f) == nil {
		return 0, nil
	}
	if _, err := os.Stat(databasePath(dir)); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	db, err := sqlite.Open(ctx, databasePath(dir), sqlite.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	events, err = db.LogSize(ctx)
	return events, errors.Join(err, db.Close())
}

// sameStore refuses a belay.yaml that names another store than the one that is open.
func (s *Storage) sameStore(f *config.File, unusable error) error {
	switch was, now := s.file.Central(), f.Central(); {
	case was == nil && now == nil, was != nil && now != nil && *was == *now:
		return nil
	case unusable != nil:
		return unusable
	case now == nil:
		return fmt.Errorf("%w: belay.yaml names no store any more, and %s is open: belay has to be started anew for that",
			config.ErrUnusable, central(was))
	default:
		return fmt.Errorf("%w: %w", config.ErrUnusable,
			f.Errorf("/store", "differs from what is open: belay has to be started anew for that"))
	}
}
