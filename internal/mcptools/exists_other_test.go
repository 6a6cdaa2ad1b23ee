//go:build !unix

package mcptools_test

import "os"

// exists reports whether there is a process of that number.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		_ = p.Release()
	}
	return err == nil
}
