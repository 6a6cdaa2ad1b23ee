//go:build !linux

package confine

// Version returns 0: Landlock is Linux's.
func Version() (int, error) { return 0, nil }

// Apply fails with ErrNoLandlock: Landlock is Linux's.
func (Server) Apply() error { return ErrNoLandlock }
