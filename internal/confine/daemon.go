package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Places are the directories of system mode that the daemon works with.
type Places struct {
	Config string // read
	State  string // read and written, temporary files included
	Run    string // its sockets are asked; they are made by systemd
}

// Daemon confines this process and its children for good, and returns what is in force. It
// moves temporary files into the state directory, since the others' are out of reach then.
// What is open already stays open: call it before anything from outside is read. Where the
// kernel has no Landlock the error is nil and the report says 0; an error means that the
// process must not serve.
//
// Where there is Landlock, the program starts again in this process before Daemon returns:
// call it first of all, with nothing in hand that has to be kept but descriptors without
// close-on-exec.
func Daemon(p Places) (Report, error) {
	tmp := filepath.Join(p.State, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Report{}, fmt.Errorf("a directory for temporary files: %w", err)
	}
	if err := os.Setenv("TMPDIR", tmp); err != nil {
		return Report{}, err
	}
	version, err := again()
	if err == nil && version == 0 {
		if version, err = restrict(p); err == nil && version > 0 {
			err = start(version)
		}
	}
	if err != nil {
		return Report{}, fmt.Errorf("confining by Landlock: %w", err)
	}
	return Report{PID: os.Getpid(), Landlock: version}, nil
}
