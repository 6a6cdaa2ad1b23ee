package highwatertest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/highwater/highwatertest"
)

type run func() int

func (r run) Run() int { return r() }

// Tests see a directory of their own, and it goes with them.
func TestRun(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/home")
	var during string
	code := highwatertest.With{M: run(func() int {
		during = os.Getenv("XDG_DATA_HOME")
		if fi, err := os.Stat(during); err != nil || !fi.IsDir() || !strings.HasPrefix(during, os.TempDir()) {
			t.Errorf("%s: %v", during, err)
		}
		return 7
	})}.Run()
	if _, err := os.Stat(during); code != 7 || !os.IsNotExist(err) {
		t.Errorf("status %d, %s is still there: %v", code, during, err)
	}
}
