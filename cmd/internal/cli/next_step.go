package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/belay-hooks/belay/internal/files"
)

// nextStep says what to do about an error that brings no advice of its own: by its cause, where the cause is one that
// the system names, and else how the command is used and what looks for faults.
func (a *App) nextStep(err error) string {
	var e *exitError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dir, _ := a.Getwd()
		return fmt.Sprintf("Look at the path: a relative one begins in %s.", safe(dir))
	case errors.Is(err, files.ErrNotRegular), errors.Is(err, syscall.EISDIR):
		return "Name a file."
	case errors.Is(err, syscall.ENOTDIR):
		return "Name a directory: a part of this path is a file."
	case errors.Is(err, files.ErrTooLarge):
		return "Look at the file: belay reads no more than that."
	case errors.Is(err, fs.ErrPermission):
		return "Look at the owner and mode of each part of the path (`ls -ld`), and run belay as the user who owns it."
	case errors.Is(err, syscall.EROFS):
		return "The file system is mounted read-only: name a directory elsewhere, such as with --state DIR."
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "The disk or the quota is full: free some space, and run the command again."
	case errors.Is(err, syscall.EADDRINUSE):
		return "Another program listens there: end it, or name another port."
	case errors.As(err, &e) && e.code == ExitUsage:
		return "`" + a.ran + " --help` shows how it is used."
	}
	return "`" + a.ran + " --help` shows how it is used, and `belay doctor` looks for what is wrong."
}
