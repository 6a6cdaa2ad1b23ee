package system

import (
	"os"

	"github.com/belay-hooks/belay/internal/peercred"
)

// Above reports whether a user is above those who ask: root, or the user whom the state directory belongs to. They name
// the directory that they work on; what others name does not count.
func Above(state string, uid int) bool {
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
