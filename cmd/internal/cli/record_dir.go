package cli

import (
	"errors"

	"github.com/belay-hooks/belay/internal/files"
)

// outsideState refuses the state directory: an operator who backs it up, or
// lets an agent read it, does not expect originals there.
func (a *App) outsideState(out string) error {
	_, err := a.recordingDir(out)
	return err
}

// recordingDir returns the real path of the directory out, with every link
// resolved, and refuses one in the state directory. Callers write to the
// result: the directory that was checked.
func (a *App) recordingDir(out string) (string, error) {
	if out == "" {
		return "", usageError("--out DIR is missing: where recordings go", "It must not be the state directory.")
	}
	wd, err := a.Getwd()
	if err != nil {
		return "", failureBy(err, "")
	}
	dir, err := a.stateDir()
	if err != nil { // there is none
		to, err := files.RealPath(wd, out)
		if err != nil {
			return "", failureBy(err, "")
		}
		return to, nil
	}
	to, err := files.Outside(wd, dir, out)
	switch {
	case errors.Is(err, files.ErrInside):
		return "", failure("recordings are not kept in the state directory",
			"They hold originals. Give another directory with --out.")
	case err != nil:
		return "", failureBy(err, "")
	}
	return to, nil
}
