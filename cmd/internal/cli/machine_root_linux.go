package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/belay-hooks/belay/internal/files"
)

// asDaemon drops root's rights for those of the daemon's user, where root works on a state directory of system mode.
// Files that root made there would be out of the daemon's reach, and a link in it would have root write elsewhere.
func (a *App) asDaemon(dir string) error {
	if a.Geteuid() != 0 {
		return nil
	}
	if inside, err := isInside(a.places().State, dir); err != nil || !inside {
		return err
	}
	fi, err := os.Lstat(a.places().State)
	if err != nil {
		return failureBy(err, "`belay system status` shows what is installed.")
	}
	owner, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return failure(safe(a.places().State)+" does not belong to the daemon's user",
			"`belay system status` says what to do.")
	}
	if err := dropTo(int(owner.Uid), int(owner.Gid)); err != nil {
		return failureBy(fmt.Errorf("root's rights cannot be dropped: %w", err), "")
	}
	return os.Setenv("HOME", filepath.Clean(a.places().State))
}

// isInside reports whether a directory is the state directory or below it, by its name or by where links lead: the
// daemon's user makes names below it, and anyone elsewhere a link into it.
func isInside(state, dir string) (bool, error) {
	if files.Contains(state, dir) {
		return true, nil
	}
	wd := string(filepath.Separator)
	root, err := files.RealPath(wd, state)
	if err == nil {
		dir, err = files.RealPath(wd, dir)
	}
	if err != nil {
		return false, failureBy(err, "root works on no directory whose place cannot be told.")
	}
	return files.Contains(root, dir), nil
}

// dropTo drops root's rights for good, in every thread of this process.
func dropTo(uid, gid int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return err
	}
	return syscall.Setresuid(uid, uid, uid)
}
