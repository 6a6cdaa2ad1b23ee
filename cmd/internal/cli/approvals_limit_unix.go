//go:build linux || darwin

package cli

import "syscall"

// limitProcess bounds what this process can take of the machine, for good: the
// processor's time in seconds, address space, and the size of any file it writes. It
// leaves no core dump. What the operator allows already is never raised.
func limitProcess(seconds, memory, file uint64) error {
	for what, most := range map[int]uint64{syscall.RLIMIT_CPU: seconds, syscall.RLIMIT_AS: memory,
		syscall.RLIMIT_FSIZE: file, syscall.RLIMIT_CORE: 0} {
		var l syscall.Rlimit
		if err := syscall.Getrlimit(what, &l); err != nil {
			return err
		}
		l.Max = min(l.Max, most)
		l.Cur = min(l.Cur, l.Max)
		if err := syscall.Setrlimit(what, &l); err != nil {
			return err
		}
	}
	return nil
}
