package harness_test

import (
	"os"
	"testing"
)

// TestMain keeps high-water marks out of the home directory of whoever runs the tests.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "belay-marks-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_DATA_HOME", dir)
	return m.Run()
}
