package system

import (
	"errors"
	"os"

	"github.com/belay-hooks/belay/internal/peercred"
)

// Asked reports whether the daemon of the machine is who a user's process asks: load says that the machine is in system
// mode, and the process names no state directory that counts. Root names one freely, and the owner of the daemon's
// state does; others where system.yaml allows it. With an error nothing may be asked: system.yaml is there, and
// cannot be believed.
func Asked(load func() (*Config, error), state string, uid int, named bool) (bool, error) {
	config, err := load()
	switch {
	case errors.Is(err, ErrNone):
		return false, nil
	case err != nil:
		return true, err
	}
	return !named || !config.AllowState && !above(state, uid), nil
}

// above reports whether a user is above those who ask: root, or the user whom the state directory belongs to.
func above(state string, uid int) bool {
	if uid == 0 {
		return true
	}
	fi, err := os.Lstat(state)
	if err != nil {
		return false
	}
	owner, ok := peercred.Owner(fi)
	return ok && owner == uid
}
