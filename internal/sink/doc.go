// Package sink decides when an event is everywhere where it has to be before
// its verdict may be released: in the store, and then in every durable file of
// JSON lines. The store is written first, and each file follows it, line by
// line, with the bytes that the store holds. So a file can be behind for a
// moment, and never ahead. It never changes a stored event, never repairs a
// foreign line, and never lets an action pass because a copy of its record
// could not be made.
package sink

import (
	"context"
	"errors"

	"github.com/belay-hooks/belay/kernel"
)

// Classes of errors, for errors.Is.
var (
	// ErrForeign: the file does not continue this log. A person has to look: it is
	// of another log, it or the store was changed, or the store was cut.
	ErrForeign = errors.New("the file does not continue this log")
	// ErrBehind: the store does not show the event that the file should have.
	ErrBehind = errors.New("the store does not show the event")
)

// Source is the log that files are caught up from. Safe for concurrent use.
type Source interface {
	LogSize(ctx context.Context) (int64, error)
	LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error)
}
