//go:build linux || darwin

package sandbox

import (
	"golang.org/x/sys/unix"
)

// limitCompiler takes the limits upon this process, for good. Memory is bounded by what
// may be written to: the runtime reserves far more addresses than it uses. What the
// operator allows already is never raised.
func limitCompiler(l compilerLimits) error {
	for _, r := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_CPU, uint64(l.cpu)}, {unix.RLIMIT_DATA, l.data}, {unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, uint64(l.code)}, {unix.RLIMIT_NOFILE, 64},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(r.what, &now); err != nil {
			return err
		}
		now.Max = min(now.Max, r.most)
		now.Cur = min(now.Cur, now.Max)
		if err := unix.Setrlimit(r.what, &now); err != nil {
			return err
		}
	}
	return nil
}
