package statedir

import (
	"io/fs"
	"strings"
	"testing"
)

// A directory that others can write to is refused, and so is every directory on a system
// that does not say who can: the error names the reason, and no command that cannot help.
func TestPrivate(t *testing.T) {
	for _, c := range []struct {
		mode fs.FileMode
		hold bool
		says string
	}{
		{0o700, true, ""},
		{0o755, true, ""},
		{0o770, true, "chmod go-w"},
		{0o702, true, "chmod go-w"},
		{0o777, false, "does not say who else reads keys"}, // as Windows shows a directory
		{0o555, false, "does not say who else reads keys"}, // and one that is read-only
	} {
		err := private("/state", fs.ModeDir|c.mode, c.hold)
		if (err != nil) != (c.says != "") || err != nil && (!strings.Contains(err.Error(), c.says) ||
			!c.hold && strings.Contains(err.Error(), "chmod")) {
			t.Errorf("%v, %v: %v", c.mode, c.hold, err)
		}
	}
}
