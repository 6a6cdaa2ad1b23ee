package systemtest

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
)

// tryFile opens a path as a user, to write there or to read, and returns why that failed. A program does it whose answer
// is the number of the error: the shell's words differ.
func (m *machine) tryFile(uid int, path string, write bool) error {
	m.t.Helper()
	mode := "read"
	if write {
		mode = "write"
	}
	return m.try(uid, mode, path)
}

// tryKill sends a signal to a process as a user.
func (m *machine) tryKill(uid, pid int) error {
	m.t.Helper()
	return m.try(uid, "kill", strconv.Itoa(pid))
}

func (m *machine) try(uid int, args ...string) error {
	m.t.Helper()
	out, errs, code := m.as(uid, "", "/usr/local/bin/try", args...)
	n, err := strconv.Atoi(strings.TrimSpace(out))
	switch {
	case code != 0 || err != nil:
		return errors.New(out + errs)
	case n == 0:
		return nil
	}
	return syscall.Errno(n)
}
