package sandbox

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pagemap asks the kernel which pages of this process are private, by PAGEMAP_SCAN (Linux 6.7). It is safe for
// concurrent use.
type pagemap struct {
	fd    int
	scans sync.Pool // of *pageScan
}

// As in linux/fs.h.
const (
	pagemapScan  = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)
	pageFile     = 1 << 2
	pagePresent  = 1 << 3
	pageSwapped  = 1 << 4
	pageZero     = 1 << 5 // the kernel's page of zeros, which reading maps
	scanArgBytes = 96
)

// shortScan is the longest memory whose scan the Go scheduler is not told of. It takes no longer than a few page
// faults, of which the scheduler knows nothing either.
const shortScan = 4 << 20

type pageRegion struct{ start, end, categories uint64 }

type pageScanArg struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages uint64
	inverted, mask, anyOf, answer                           uint64
}

// pageScan is the buffer of one scan. The kernel is given its address in an integer, so it is never on a stack, which
// could move.
type pageScan struct {
	arg     pageScanArg
	regions [32]pageRegion
}

func openPagemap() (*pagemap, error) {
	fd, err := unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("pagemap: %w", err)
	}
	return &pagemap{fd: fd, scans: sync.Pool{New: func() any { return new(pageScan) }}}, nil
}

func (p *pagemap) close() { _ = unix.Close(p.fd) } // it was only read

// private calls each for every run of pages of b, as offsets, that belong to this process alone: written since they
// were mapped or dropped. Pages of a file that were only read are not among them. It stops where each returns false.
func (p *pagemap) private(b []byte, each func(from, to uint64) bool) error {
	s := p.scans.Get().(*pageScan)
	defer p.scans.Put(s)
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	end := base + uint64(len(b))
	for at := base; at < end; {
		s.arg = pageScanArg{
			size: scanArgBytes, start: at, end: end,
			vec: uint64(uintptr(unsafe.Pointer(&s.regions[0]))), vecLen: uint64(len(s.regions)),
			inverted: pageFile | pageZero, mask: pageFile | pageZero,
			anyOf: pagePresent | pageSwapped, answer: pagePresent,
		}
		ioctl := unix.Syscall
		if len(b) <= shortScan {
			ioctl = unix.RawSyscall
		}
		n, _, e := ioctl(unix.SYS_IOCTL, uintptr(p.fd), pagemapScan, uintptr(unsafe.Pointer(&s.arg)))
		runtime.KeepAlive(s)
		if e != 0 {
			return fmt.Errorf("pagemap scan: %w", e)
		}
		if n > uintptr(len(s.regions)) || s.arg.walkEnd <= at || s.arg.walkEnd > end {
			return fmt.Errorf("pagemap scan: %d regions up to %#x of %#x to %#x", n, s.arg.walkEnd, at, end)
		}
		for _, r := range s.regions[:n] {
			if r.start < at || r.end > end || r.start >= r.end {
				return fmt.Errorf("pagemap scan: a region of %#x to %#x", r.start, r.end)
			}
			if !each(r.start-base, r.end-base) {
				return nil
			}
		}
		at = s.arg.walkEnd
	}
	return nil
}
