package cli

import (
	"slices"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/system"
)

// deciders returns the configuration that says whose signature counts, and the directory where a reviewer's key lies if
// no file is named. On a machine in system mode it is the organisation's, with the reviewers whom system.yaml names for
// this user. It only finds the key and its name: the daemon looks at each signature itself.
func (a *App) deciders() (dir string, f *config.File, err error) {
	on, err := a.onMachine()
	if err != nil {
		return "", nil, err
	}
	if !on {
		return a.readConfigFile()
	}
	machine, err := a.loadSystem()
	if err != nil {
		return "", nil, failureBy(err, "")
	}
	if dir, f, err = a.organisationFile(); err != nil {
		return "", nil, err
	}
	named := machine.ReviewersOf(a.Geteuid(), system.Directory{})
	f.Reviewers = slices.DeleteFunc(f.Reviewers, func(r config.Reviewer) bool { return !slices.Contains(named, r.Name) })
	f.Approvals.Unsigned = false
	if len(f.Reviewers) == 0 {
		return "", nil, failure("on this machine no reviewer decides for you",
			"Root names one: `reviewers` in "+system.ConfigFile+", by a name in belay.yaml.")
	}
	return dir, f, nil
}

// organisationFile reads the organisation's belay.yaml, which every user can read.
func (a *App) organisationFile() (dir string, f *config.File, err error) {
	dir = a.places().Config
	src, err := config.ReadFile(dir)
	if err == nil {
		f, err = config.Parse(src)
	}
	if err != nil {
		return "", nil, failureBy(err, "Root mends it: the machine is in system mode.")
	}
	return dir, f, nil
}
