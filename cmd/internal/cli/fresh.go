package cli

import (
	"errors"
	"fmt"

	"github.com/belay-hooks/belay/internal/hookbuild"
)

// readFresh reads a module that is about to be bound, signed or handed on, and refuses one that is older than its
// source. It never builds: the folder of a module may be another person's, and a build runs what that folder says.
func readFresh(path string) ([]byte, error) {
	module, err := readModule(path)
	if err != nil {
		return nil, failureBy(err, "")
	}
	if err := hookbuild.Check(path, module); err != nil {
		return nil, staleFailure(path, err)
	}
	return module, nil
}

// noteStale tells an author that a module which is only looked at or tried is older than its source.
func (a *App) noteStale(path string, module []byte) {
	err := hookbuild.Check(path, module)
	var stale *hookbuild.StaleError
	switch {
	case errors.As(err, &stale):
		fmt.Fprintf(a.Err, "belay: note: %s; `%s` builds it anew\n", oneLine(err.Error(), 400), safe(stale.Command()))
	case err != nil:
		fmt.Fprintf(a.Err, "belay: note: whether it is as new as its source is not known: %s\n", oneLine(err.Error(), 400))
	}
}

// staleFailure says what to do about a module that is not known to be as new as its source.
func staleFailure(path string, err error) error {
	asItIs := "To use the module as it is, remove " + hookbuild.RecordPath(path) + "."
	var stale *hookbuild.StaleError
	if errors.As(err, &stale) {
		return failureBy(err, "Build it anew: `"+safe(stale.Command())+"`. "+safe(asItIs))
	}
	return failureBy(err, "`belay hook build` or `belay rules build` writes the record anew. "+safe(asItIs))
}
