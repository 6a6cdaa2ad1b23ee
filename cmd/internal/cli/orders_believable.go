package cli

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay/internal/sink"
)

// believable compares the database with its high-water mark, and its rows with the log,
// before a reviewer is asked for a passphrase. A reviewer signs nothing that a database shows
// after it went back or was edited.
func (a *App) believable() (err error) {
	ctx := context.Background()
	quiet := a.quiet
	a.quiet = true // opening it before has printed the fault
	defer func() { a.quiet = quiet }()
	src, err := a.lookAtRecords(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	st, err := src.Status(ctx)
	if err != nil {
		return recordsFailure(err)
	}
	for _, k := range st.Sinks {
		switch sink.Trouble(k.Trouble) {
		case sink.RolledBack:
			return failure("nothing is signed while the database is behind its high-water mark",
				"Put the newest database back, or `belay recover`.")
		case sink.Tampered:
			return failure("nothing is signed while rows of the database are not those that the log records",
				"Put them back, or `belay recover --dry-run` says how they are repaired.")
		}
	}
	return nil
}
