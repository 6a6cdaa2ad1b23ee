// Package highwatertest keeps the high-water marks of tests out of the home directory. It
// never touches a mark.
package highwatertest

import "os"

// M is what testing.M is for its runner.
type M interface{ Run() int }

// Run runs the tests, for TestMain, with a directory of their own for high-water marks, and
// returns their status. It sets XDG_DATA_HOME, for processes that the tests start, too.
func Run(m M) int {
	dir, err := os.MkdirTemp("", "belay-marks-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("XDG_DATA_HOME", dir); err != nil {
		panic(err)
	}
	return m.Run()
}

// With is testing.M for a runner that takes one, such as testscript's: its Run is Run.
type With struct{ M }

// Run runs the tests as Run does.
func (w With) Run() int { return Run(w.M) }
