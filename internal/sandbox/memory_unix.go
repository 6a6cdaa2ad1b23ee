//go:build unix

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// region is reserved address space of which a prefix is usable.
type region struct {
	b     []byte
	ready uint64 // bytes that an earlier use has made usable; they are zero where they are not in use
}

func reserve(most uint64) (region, error) {
	if most == 0 {
		return region{}, nil
	}
	b, err := unix.Mmap(-1, 0, int(most), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	return region{b: b}, err
}

// commit makes the bytes up to size usable; those up to have are already.
func (r *region) commit(have, size uint64) ([]byte, error) {
	if size > uint64(len(r.b)) {
		return nil, fmt.Errorf("%d bytes are more than the %d reserved", size, len(r.b))
	}
	if have = max(have, r.ready); size > have {
		if err := unix.Mprotect(r.b[have:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return nil, err
		}
	}
	return r.b[:size:size], nil
}

// usable notes that the first size bytes may have been written, though fewer may be in use from now on, and returns
// how many may at most, by this use or an earlier one.
func (r *region) usable(size uint64) uint64 {
	r.ready = max(r.ready, size)
	return r.ready
}

// clear makes the region as it was at first, but for the first used bytes, which stay usable.
func (r *region) clear(used uint64) bool {
	r.usable(used)
	clear(r.b[:used])
	return true
}

func (r *region) release() {
	if r.b != nil {
		_ = unix.Munmap(r.b) // it was mapped by reserve and is unmapped once
		r.b = nil
	}
}
