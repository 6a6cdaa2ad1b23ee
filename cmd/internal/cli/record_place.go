package cli

import (
	"errors"

	"github.com/belay-hooks/belay/internal/place"
)

// outsideState refuses the state directory: an operator who backs it up, or
// lets an agent read it, does not expect originals there.
func (a *App) outsideState(out string) error {
	_, err := a.recordingPlace(out)
	return err
}

// recordingPlace returns the directory that out is, with every link followed, and
// refuses one that lies in the state directory. Who writes there uses the result:
// then what was looked at is what is written to.
func (a *App) recordingPlace(out string) (string, error) {
	if out == "" {
		return "", usageError("--out DIR is missing: where recordings go", "It must not be the state directory.")
	}
	wd, err := a.Getwd()
	if err != nil {
		return "", failureBy(err, "")
	}
	dir, err := a.stateDir()
	if err != nil { // there is none
		to, err := place.Follow(wd, out)
		if err != nil {
			return "", failureBy(err, "")
		}
		return to, nil
	}
	to, err := place.Outside(wd, dir, out)
	switch {
	case errors.Is(err, place.ErrInside):
		return "", failure("recordings are not kept in the state directory",
			"They hold originals. Give another directory with --out.")
	case err != nil:
		return "", failureBy(err, "")
	}
	return to, nil
}
