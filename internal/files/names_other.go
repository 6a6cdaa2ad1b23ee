//go:build !unix

package files

import "os"

// Names reports whether the path, after every link, names the file that fi is of. Errors are of the file
// system.
func Names(path string, fi os.FileInfo) (bool, error) { return namesSlowly(path, fi) }
