package sandbox

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/phases"
)

// TestKernelRestores: a way to restore memories that the kernel has is one that works. It fails where one is given up
// without a word.
func TestKernelRestores(t *testing.T) {
	b, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	want := ResetDrop
	pages, err := openPagemap()
	if err == nil {
		defer pages.close()
		if pages.private(b, func(uint64, uint64) bool { return true }) == nil {
			want = ResetCopy
		}
	}
	found, pages, err := probeReset()
	if found != want || (pages != nil) != (found == ResetCopy) {
		t.Errorf("%v: %v, want %v", found, err, want)
	}
	if pages != nil {
		pages.close()
	}
}

// Nothing changes an image, not even this process.
func TestImagesAreSealed(t *testing.T) {
	img, err := newImage(bytes.Repeat([]byte{1}, pageSize))
	if err != nil {
		t.Fatal(err)
	}
	defer img.close()
	if _, err := unix.Pwrite(img.fd, []byte{2}, 0); err == nil {
		t.Error("it was written to")
	}
	for _, size := range []int64{0, 2 * pageSize} {
		if unix.Ftruncate(img.fd, size) == nil {
			t.Errorf("its size was set to %d", size)
		}
	}
	if b, err := unix.Mmap(img.fd, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("it was mapped to be written to")
		_ = unix.Munmap(b)
	}
	if _, err := unix.FcntlInt(uintptr(img.fd), unix.F_ADD_SEALS, unix.F_SEAL_EXEC); err == nil {
		t.Error("its seals are open")
	}
}

// A memory is restored to the last byte, however many of its pages were written, wherever they are, and however
// scattered; others that the same image is mapped over do not change.
func TestMemoryIsRestored(t *testing.T) {
	pages, err := openPagemap()
	if err != nil {
		t.Fatal(err)
	}
	defer pages.close()
	const size, room = 64 * pageSize, 80 * pageSize // 1,024 pages, and 256 behind them
	random := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, size)
	for at := 0; at < size; at += 3 * 4096 {
		for i := range content[at:][:4096] {
			content[at+i] = byte(random.Uint32())
		}
	}
	img, err := newImage(content)
	if err != nil {
		t.Fatal(err)
	}
	defer img.close()
	want := append(bytes.Clone(content), make([]byte, room-size)...)
	var maps [2][]byte
	for i := range maps {
		maps[i], err = unix.Mmap(-1, 0, room, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Munmap(maps[i]) }()
		if err := img.mapOver(maps[i]); err != nil {
			t.Fatal(err)
		}
	}
	b, page := maps[0], unix.Getpagesize()
	for _, with := range []*pagemap{pages, nil} {
		for _, stride := range []int{room, 100, 7, 3, 2, 1} { // pages
			written := 0
			for at := 0; at < room; at += stride * page {
				b[at+random.IntN(page)] ^= 0xff
				written++
			}
			private, err := img.restore(b, with)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b, want) {
				t.Errorf("every %d pages: not restored", stride)
			}
			// Pages stay private for as long as they are copied.
			if most := int64(maxCopied * page); with == nil && private != 0 || private > most ||
				with != nil && written <= maxCopied/2 && private < int64(written*page) {
				t.Errorf("every %d pages: %d bytes are private after %d pages were written", stride, private, written)
			}
		}
	}
	if !bytes.Equal(maps[1], want) {
		t.Error("another memory was changed")
	}
}

// A closed engine holds no image, no memory and no file.
func TestClosedEnginesHoldNothing(t *testing.T) {
	images := func() int {
		b, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "belay-instance")
	}
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for _, reset := range resets(t)[1:] {
		files, mapped := open(), images()
		e, err := Open(Options{reset: &reset})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			m, _ := warmed(t, e, "state")
			runState(t, m, "state", phases.PreSend)
		}
		if n, f := images()-mapped, open()-files; n < 2*4 || f < 4 {
			t.Errorf("%d mappings and %d files: they are not counted", n, f)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if n, f := images()-mapped, open()-files; n > 0 || f > 0 {
			t.Errorf("%v: %d mappings of images and %d files are left", reset, n, f)
		}
	}
}
