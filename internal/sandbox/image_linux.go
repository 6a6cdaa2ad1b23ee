package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// image is the content of a memory after initialisation, in a sealed file without a name. Instances map it
// copy-on-write. It is never changed: after sealing not even this process can.
type image struct {
	size  uint64
	bytes int64  // of pages that are not zero
	zero  []bool // for each page: all of it is
	fd    int
	view  []byte // read-only
}

// newImage makes an image of b, whose length is a multiple of pageSize and not 0.
func newImage(b []byte) (_ *image, err error) {
	fd, err := unix.MemfdCreate("belay-instance", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	i := &image{size: uint64(len(b)), fd: fd}
	defer func() {
		if err != nil {
			i.close()
		}
	}()
	if err = unix.Ftruncate(fd, int64(len(b))); err != nil {
		return nil, err
	}
	page := unix.Getpagesize()
	i.zero = make([]bool, len(b)/page)
	for k := range i.zero {
		p := b[k*page:][:page]
		if i.zero[k] = isZero(p); i.zero[k] {
			continue // a hole
		}
		i.bytes += int64(page)
		if n, err := unix.Pwrite(fd, p, int64(k*page)); err != nil || n != page {
			return nil, fmt.Errorf("write to a memfd: %d, %w", n, err)
		}
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if i.view, err = unix.Mmap(fd, 0, len(b), unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
		return nil, err
	}
	return i, nil
}

func isZero(p []byte) bool {
	for ; len(p) >= 8; p = p[8:] {
		if *(*uint64)(unsafe.Pointer(&p[0])) != 0 {
			return false
		}
	}
	return true
}

// close gives the file back. Memories that the image is mapped over keep it for as long as they are.
func (i *image) close() {
	// Nothing to report: both were opened by newImage and are closed once.
	_ = unix.Close(i.fd)
	if i.view != nil {
		_ = unix.Munmap(i.view)
		i.view = nil
	}
}

// mapOver puts the image over the beginning of b, which is mapped memory: its content is then that of the image, and
// what is written to it is b's alone.
func (i *image) mapOver(b []byte) error {
	at := unsafe.Pointer(&b[0])
	got, err := unix.MmapPtr(i.fd, 0, at, uintptr(i.size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_FIXED)
	if err != nil {
		return fmt.Errorf("mmap of an image: %w", err)
	}
	if got != at {
		return errors.New("the image was mapped at another place")
	}
	// A huge page would be private as a whole for one byte. Kernels without huge pages refuse, which is as good.
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	return nil
}

// maxCopied is how many pages are copied at most. Of more, 2 MiB and up, copying takes longer than the page faults that
// it spares the next run, and an idle instance would hold them.
const maxCopied = 512

// restore makes b, over whose beginning the image is mapped and whose rest is anonymous memory, as it was at first:
// the image, and zeros behind it. Without pages it drops whatever is private; with them it overwrites that, so that the
// next run has no page faults. It returns how many bytes of b are private then. After an error b is of no use.
func (i *image) restore(b []byte, pages *pagemap) (private int64, err error) {
	if pages == nil {
		return 0, drop(b)
	}
	page := uint64(unix.Getpagesize())
	copied := uint64(0)
	err = pages.private(b, func(from, to uint64) bool {
		if copied += (to - from) / page; copied > maxCopied {
			return false
		}
		for ; from < to; from += page {
			if p := b[from:][:page]; from >= i.size || i.zero[from/page] {
				clear(p)
			} else {
				copy(p, i.view[from:])
			}
		}
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case copied > maxCopied:
		return 0, drop(b)
	}
	return int64(copied * page), nil
}

// drop gives all private pages of b back: it is then what was mapped there.
func drop(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("madvise: %w", err)
	}
	return nil
}
