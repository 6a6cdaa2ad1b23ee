package daemonapi

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// System mode: the machine has one daemon, with a user of its own. No flag and no variable moves these places.
const (
	// SystemConfig is root's. Its presence alone is system mode; package internal/system reads it.
	SystemConfig = "/etc/belay/system.yaml"
	// SystemDir is root's, and holds the sockets.
	SystemDir = "/run/belay"
)

// SystemMode reports whether this machine is in system mode. What cannot be told counts as yes: the daemon of the
// machine is asked then, and if there is none, events are blocked. It costs one system call.
func SystemMode() bool {
	_, err := os.Lstat(SystemConfig)
	return !errors.Is(err, fs.ErrNotExist)
}

// machineSocket reports whether the path is one of the machine's sockets.
func machineSocket(path string) bool { return filepath.Dir(path) == SystemDir }
