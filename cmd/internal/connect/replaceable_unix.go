//go:build unix

package connect

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// replaceable says whether accounts other than the person's and root could put another program in the place
// of belay-hook: by writing to it, or to a directory on the way to it. settings is the file that names it,
// whose owner is the person. At the level managed root alone may.
func replaceable(program string, level Level, settings string) []Finding {
	if !filepath.IsAbs(program) {
		return nil // PATH says which one starts: that is said elsewhere
	}
	owners := []int{0}
	if level != Managed {
		owners = append(owners, os.Geteuid())
		if uid, _, _, ok := lstat(settings); ok {
			owners = append(owners, uid)
		}
	}
	paths := ancestors(program)
	if real, err := filepath.EvalSymlinks(program); err == nil && real != program {
		paths = append(paths, ancestors(real)...)
	}
	for _, path := range paths {
		uid, gid, mode, ok := lstat(path)
		if !ok {
			continue // a program that is not there is said elsewhere
		}
		if text, severity := othersMay(uid, gid, mode, owners, level); text != "" {
			return []Finding{{severity, path + " " + text + ": another program can take the place of belay-hook",
				"Have it where " + map[bool]string{true: "root alone", false: "you and root alone"}[level == Managed] +
					" can write, and connect again."}}
		}
	}
	return nil
}

// notRoots says what lets another account than root change a file of managed settings.
func notRoots(settings string) []Finding {
	for _, path := range ancestors(settings) {
		uid, gid, mode, ok := lstat(path)
		if !ok {
			continue // read a moment ago
		}
		if text, severity := othersMay(uid, gid, mode, []int{0}, Managed); text != "" {
			return []Finding{{severity, path + " " + text + ": another account can take belay's entries out",
				"Root: give it to root alone."}}
		}
	}
	return nil
}

// othersMay says what lets others write, and how bad it is. A group of the owner's own is no other.
func othersMay(uid, gid int, mode fs.FileMode, owners []int, level Level) (string, Severity) {
	switch {
	case !slices.Contains(owners, uid):
		return fmt.Sprintf("belongs to user %d", uid), Fail
	case mode&fs.ModeSymlink != 0, mode.IsDir() && mode&fs.ModeSticky != 0:
		return "", OK
	case mode&0o002 != 0:
		return fmt.Sprintf("can be written by every account (mode %04o)", mode.Perm()), Fail
	case mode&0o020 != 0 && gid != uid && gid != 0:
		severity := Warn
		if level == Managed {
			severity = Fail
		}
		return fmt.Sprintf("can be written by group %d (mode %04o)", gid, mode.Perm()), severity
	}
	return "", OK
}

// ancestors returns the path and the directories above it, from the root on.
func ancestors(path string) (out []string) {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		out = append(out, path)
		if filepath.Dir(path) == path {
			slices.Reverse(out)
			return out
		}
	}
}

func lstat(path string) (uid, gid int, mode fs.FileMode, ok bool) {
	fi, err := os.Lstat(path)
	if err != nil {
		return 0, 0, 0, false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 0, false
	}
	return int(st.Uid), int(st.Gid), fi.Mode(), true
}
