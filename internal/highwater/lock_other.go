//go:build !unix

package highwater

// Lock implements File. Without file locks one process at a time may use a mark.
func (f osFile) Lock() error { return nil }

// Unlock implements File.
func (f osFile) Unlock() error { return nil }
