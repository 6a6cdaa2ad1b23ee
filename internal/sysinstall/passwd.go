//go:build linux

package sysinstall

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/system"
)

// Account is a user of the tree, as /etc/passwd has it.
type Account struct {
	Name     string
	UID, GID int
	Shell    string
}

// lastSystemUser is the highest uid that is no person's, as distributions have it.
const lastSystemUser = 999

// parsePasswd returns the accounts of a passwd file. Lines that are none are left out.
func parsePasswd(src []byte) map[string]Account {
	out := map[string]Account{}
	for line := range bytes.Lines(src) {
		f := strings.Split(strings.TrimSuffix(string(line), "\n"), ":")
		if len(f) != 7 || f[0] == "" {
			continue
		}
		uid, err1 := strconv.ParseUint(f[2], 10, 31)
		gid, err2 := strconv.ParseUint(f[3], 10, 31)
		if _, twice := out[f[0]]; err1 != nil || err2 != nil || twice { // the system takes the first
			continue
		}
		out[f[0]] = Account{Name: f[0], UID: int(uid), GID: int(gid), Shell: f[6]}
	}
	return out
}

// maxPasswd bounds what is read of /etc/passwd, in bytes.
const maxPasswd = 16 << 20

// accounts returns belay's users that the tree has. The error is ErrUnsafe where one of them can log in, is
// root, or is a person's.
func (t *Tree) accounts() (map[string]Account, error) {
	src, err := t.read("/etc/passwd", maxPasswd)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Account{}, nil
	}
	if err != nil {
		return nil, err
	}
	all, out := parsePasswd(src), map[string]Account{}
	for _, name := range []string{system.User, system.ToolsUser} {
		a, ok := all[name]
		if !ok {
			continue
		}
		advice := "Rename that user, or remove it: belay makes one of its own."
		switch {
		case a.UID == 0 || a.UID > lastSystemUser:
			return nil, unsafe("user "+name, fmt.Sprintf("has uid %d, and is no system user", a.UID), advice)
		case !strings.HasSuffix(a.Shell, "/nologin") && !strings.HasSuffix(a.Shell, "/false"):
			return nil, unsafe("user "+name, "can log in: its shell is "+a.Shell,
				"If the user is belay's: usermod --shell /usr/sbin/nologin "+name)
		}
		for _, other := range all {
			if other.UID == a.UID && other.Name != name {
				return nil, unsafe("user "+name, "shares uid "+strconv.Itoa(a.UID)+" with user "+other.Name, advice)
			}
		}
		out[name] = a
	}
	return out, nil
}

// Lookup returns an account of the tree by its name.
func (t *Tree) Lookup(name string) (Account, bool, error) {
	src, err := t.read("/etc/passwd", maxPasswd)
	if err != nil {
		return Account{}, false, ignoreMissing(err)
	}
	a, ok := parsePasswd(src)[name]
	return a, ok, nil
}
