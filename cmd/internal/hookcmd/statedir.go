package hookcmd

import (
	"errors"
	"path/filepath"
)

// ErrNoHome: nothing says where the state directory is.
var ErrNoHome = errors.New("there is no home directory to keep the state in")

// StateDir returns the state directory, absolute; it need not exist. flag is what
// the command line says, or "". The error is ErrNoHome, or that of getwd.
func StateDir(flag string, getenv func(string) string, getwd func() (string, error)) (string, error) {
	dir := flag
	if dir == "" {
		dir = getenv("BELAY_HOME")
	}
	if dir == "" {
		if x := getenv("XDG_STATE_HOME"); filepath.IsAbs(x) {
			dir = filepath.Join(x, "belay")
		}
	}
	if dir == "" {
		home := getenv("HOME")
		if home == "" {
			return "", ErrNoHome
		}
		dir = filepath.Join(home, ".local", "state", "belay")
	}
	if !filepath.IsAbs(dir) {
		wd, err := getwd()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(wd, dir)
	}
	return dir, nil
}
