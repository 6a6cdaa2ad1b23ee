//go:build unix

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// region is reserved address space of which a prefix is usable.
type region struct{ b []byte }

func reserve(most uint64) (region, error) {
	if most == 0 {
		return region{}, nil
	}
	b, err := unix.Mmap(-1, 0, int(most), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	return region{b}, err
}

// commit makes the bytes up to size usable; those up to have are already.
func (r *region) commit(have, size uint64) ([]byte, error) {
	if size > uint64(len(r.b)) {
		return nil, fmt.Errorf("%d bytes are more than the %d reserved", size, len(r.b))
	}
	if size > have {
		if err := unix.Mprotect(r.b[have:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil, err
		}
	}
	return r.b[:size:size], nil
}

func (r *region) release() {
	if r.b != nil {
		_ = unix.Munmap(r.b) // it was mapped by reserve and is unmapped once
		r.b = nil
	}
}
