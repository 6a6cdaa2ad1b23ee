//go:build !unix

package sandbox

import (
	"os"
	"time"
)

// Without locks two processes may delete each other's half-written entries, and
// each then compiles without the cache.
func lockFile(string, time.Duration) (unlock func(), err error) { return func() {}, nil }

func ownedByUs(os.FileInfo) bool { return true }
