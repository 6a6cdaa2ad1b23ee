//go:build linux || darwin

package sink

import "golang.org/x/sys/unix"

// noSpace reports whether the file system of dir has next to nothing left.
func noSpace(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	const little = 64 << 10 // bytes: one event with its share of the database
	return st.Bavail*uint64(st.Bsize) < little || st.Files > 0 && st.Ffree == 0
}
