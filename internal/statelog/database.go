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
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
)

// Database is belay.db with the mark outside of it. It is a kernel.Store.
type Database struct {
	*sqlite.Store
	guard *highwater.Guard // nil: no mark is kept
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
		return &Database{Store: db}, nil
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
	if err := db.CheckMark(ctx); errors.Is(err, kernel.ErrRollback) {
		o.Logger.LogAttrs(ctx, slog.LevelError,
			"the database went back behind its high-water mark: everything is blocked until `belay recover`",
			slog.String("why", highwater.Reason(err)))
	}
	return &Database{db, guard}, nil
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
	err := d.Store.Close()
	if d.guard != nil {
		err = errors.Join(err, d.guard.Close())
	}
	return err
}
