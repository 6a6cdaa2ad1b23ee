//go:build !unix

package hookcmd

import "os"

// discards cannot be told here from a closed file.
func discards(*os.File) bool { return false }
