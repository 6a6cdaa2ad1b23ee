//go:build !unix

package kernel

import (
	"os"
	"time"
)

// intentPatience is when a note counts as left behind where the host cannot tell
// whether its process lives: no call takes that long.
const intentPatience = 2 * time.Minute

func lockNote(*os.File) error { return nil }

// noteLeft goes by age where there are no locks that end with their process.
func noteLeft(f *os.File) bool {
	fi, err := f.Stat()
	return err == nil && time.Since(fi.ModTime()) > intentPatience
}
