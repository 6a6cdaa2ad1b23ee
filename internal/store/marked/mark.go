package marked

import (
	"errors"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/kernel"
)

// Mark keeps, outside of the database, how far the database has come, and what commits
// use up. highwater.Guard is one.
type Mark interface {
	Look() (*highwater.State, int64, error)
	Adopt(store string, h highwater.Head) error
	Intend(epoch int64, h highwater.Head, uses []highwater.Use, now time.Time) error
	Advance(epoch int64, h highwater.Head) error
	Reset(s *highwater.State) error
	Heal() error
}

// RolledBack makes an error one of a database that went back.
func RolledBack(err error) error { return fmt.Errorf("%w: %w", kernel.ErrRollback, err) }

// Behind is RolledBack with a reason.
func Behind(format string, args ...any) error {
	return RolledBack(&highwater.Error{Class: highwater.ErrBehind, Reason: fmt.Sprintf(format, args...)})
}

// Failure gives an error of the mark its class: a mark that is missing or damaged
// is no better than a database that went back.
func Failure(err error) error {
	if errors.Is(err, highwater.ErrBehind) || errors.Is(err, highwater.ErrMissing) ||
		errors.Is(err, highwater.ErrDamaged) {
		return RolledBack(err)
	}
	return err
}

// Look returns what the mark says about the database whose id is store, "" when it has none, and a number that
// changes when the mark says something new. State is nil when there is no mark and the database may get one.
// Errors are kernel.ErrRollback, highwater.ErrNoPlace when no mark can be kept and the database never had one, or
// those of the disk.
func Look(m Mark, store string) (*highwater.State, int64, error) {
	st, looks, err := m.Look()
	switch {
	case errors.Is(err, highwater.ErrNoPlace) && store == "":
		return nil, looks, err
	case err != nil:
		return nil, looks, Failure(err)
	case st == nil && store != "":
		return nil, looks, RolledBack(&highwater.Error{Class: highwater.ErrMissing,
			Reason: "the database says that it has one; it was removed, or the state directory was moved or copied"})
	case st != nil && store != "" && store != st.Store:
		return nil, looks, Behind("it is another database than the one of the mark")
	}
	return st, looks, nil
}
