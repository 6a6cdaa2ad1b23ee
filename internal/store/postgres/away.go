package postgres

import (
	"errors"

	"github.com/belay-hooks/belay/kernel"
)

// Away reports whether an error says that the database cannot be reached or used now, and not that it has refused
// something.
func Away(err error) bool {
	if err == nil || errors.Is(err, kernel.ErrConflict) || errors.Is(err, kernel.ErrTampered) ||
		errors.Is(err, kernel.ErrRollback) || errors.Is(err, kernel.ErrDamaged) {
		return false
	}
	code := refusal(err)
	if len(code) < 2 {
		return true
	}
	switch code {
	case codeFenced, codeHeld, codeOwner, codeOtherKey, codeNames: // another process has the name, or it is not ours
		return true
	}
	return awayCode(code)
}

// awayCode reports whether PostgreSQL says by a code that it cannot be used now.
func awayCode(code string) bool {
	if len(code) < 2 {
		return false
	}
	switch code[:2] {
	case "08", "53", "57", "58", "28", "3D": // connection, resources, operator, system, login, database
		return true
	}
	return false
}
