//go:build !linux

package sandbox

import "os"

// sameChangeTime has nothing to go by here; the modification time must do.
func sameChangeTime(_, _ os.FileInfo) bool { return true }
