//go:build !unix

package sink

// Without file locks one process at a time may write to a file.
func (f osFile) lock() error   { return nil }
func (f osFile) unlock() error { return nil }
