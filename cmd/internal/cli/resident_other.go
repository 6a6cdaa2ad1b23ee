//go:build !linux

package cli

// releaseProgram leaves to the system what it holds of the program's file.
func releaseProgram() {}
