package statelog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
)

// Database is belay.db, or what a kernel has in a database that others share, with the mark outside of it. It is a
// kernel.Store.
type Database struct {
	engine
	guard *highwater.Guard // nil: no mark is kept
	where string           // for people

	// of the PostgreSQL that the log is forwarded to
	there      *highwater.Guard // nil: no mark is kept
	thereWhere string           // for people; "": it is not forwarded
}

// engine is a store that compares itself with its mark and can be recovered.
type engine interface {
	kernel.Store
	CheckMark(ctx context.Context) error
	MarkTrouble() error
	Recover(ctx context.Context, advise func() (marked.Advice, error),
		plan func(marked.Stand) (marked.Decision, error)) error
}

const belayDB = "belay.db"

// place says for people which database it is; "" for belay.db.
func (d *Database) place() string {
	if d == nil || d.where == belayDB {
		return ""
	}
	return d.where
}

// DatabaseOptions are the ways to open belay.db.
type DatabaseOptions struct {
	NoMark bool         // keep no high-water mark: a database that is restored or removed is not noticed
	MarkIn string       // directory of the mark, as belay.yaml names it; "" means the usual one
	Move   bool         // a mark that lies elsewhere is moved to MarkIn
	Logger *slog.Logger // never nil
}

// OpenDatabase opens belay.db in dir with its high-water mark, and makes
// missing ones. A database that went back is no error: it blocks everything,
// and `belay recover` needs it open. Errors are config.ErrUnusable,
// statedir.ErrUnusable or kernel.ErrUnavailable.
func OpenDatabase(ctx context.Context, dir string, o DatabaseOptions) (*Database, error) {
	path := databasePath(dir)
	if o.NoMark {
		db, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return nil, err
		}
		return &Database{engine: db, where: belayDB}, nil
	}
	guard, err := highwater.ForState(dir, o.MarkIn, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("%w: events.high_water: %w", config.ErrUnusable, err)
	}
	if o.MarkIn != "" && o.Move {
		if _, err := guard.Move(o.MarkIn); err != nil {
			return nil, errors.Join(statedir.Unusable("the high-water mark", err), guard.Close())
		}
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{Mark: guard})
	if err != nil {
		return nil, errors.Join(err, guard.Close())
	}
	d := &Database{engine: db, guard: guard, where: belayDB}
	d.compare(ctx, o.Logger)
	return d, nil
}

// compare says in the program's log when the database is behind its mark.
func (d *Database) compare(ctx context.Context, log *slog.Logger) {
	if err := d.CheckMark(ctx); errors.Is(err, kernel.ErrRollback) {
		log.LogAttrs(ctx, slog.LevelError,
			"the database went back behind its high-water mark: everything is blocked until `belay recover`",
			slog.String("why", highwater.Reason(err)))
	}
}

// mark returns the mark; nil for a database that keeps none, and for none.
func (d *Database) mark() *highwater.Guard {
	if d == nil {
		return nil
	}
	return d.guard
}

// Close closes the database, and the mark after it.
func (d *Database) Close() error {
	return errors.Join(d.engine.Close(), d.closeMark())
}

func (d *Database) closeMark() (err error) {
	for _, g := range []*highwater.Guard{d.guard, d.there} {
		if g != nil {
			err = errors.Join(err, g.Close())
		}
	}
	return err
}
