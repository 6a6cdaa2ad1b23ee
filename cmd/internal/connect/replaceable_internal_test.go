//go:build unix

package connect

import (
	"io/fs"
	"strings"
	"testing"
)

// Another account's program is red, and at the level managed any but root's. A group of the owner's own, and
// root's, are no other account.
func TestProgramsOfOtherAccounts(t *testing.T) {
	const person, other = 1000, 12345
	for name, c := range map[string]struct {
		level    Level
		uid, gid int
		mode     fs.FileMode
		text     string
		severity Severity
	}{
		"the person's":             {User, person, person, 0o755, "", OK},
		"of the person's group":    {User, person, person, 0o775, "", OK},
		"of another group":         {User, person, other, 0o775, "written by group 12345", Warn},
		"of root's group":          {User, 0, 0, 0o775, "", OK},
		"root's, of another group": {Managed, 0, other, 0o775, "written by group 12345", Fail},
		"root's":                   {Managed, 0, 0, 0o755, "", OK},
		"the person's, managed":    {Managed, person, person, 0o755, "belongs to user 1000", Fail},
		"another account's":        {User, other, other, 0o755, "belongs to user 12345", Fail},
		"everybody's":              {Project, person, person, 0o757, "written by every account", Fail},
	} {
		owners := []int{0, person}
		if c.level == Managed {
			owners = owners[:1]
		}
		text, severity := othersMay(c.uid, c.gid, c.mode, owners, c.level)
		if severity != c.severity || (text == "") != (c.text == "") || !strings.Contains(text, c.text) {
			t.Errorf("%s: %s %q", name, severity, text)
		}
	}
}
