package sandbox

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// probeReset finds the best way that this kernel offers to restore a memory, by restoring one. The error says why it is
// not ResetCopy.
func probeReset() (Reset, *pagemap, error) {
	if err := tryReset(nil); err != nil {
		return ResetNone, nil, err
	}
	pages, err := openPagemap()
	if err != nil {
		return ResetDrop, nil, err
	}
	if err := tryReset(pages); err != nil {
		pages.close()
		return ResetDrop, nil, err
	}
	return ResetCopy, pages, nil
}

// tryReset changes the first and the last page of an image and a page behind it, and restores them.
func tryReset(pages *pagemap) error {
	content := make([]byte, 2*pageSize)
	for i := range content[:pageSize] {
		content[i] = byte(i>>8) + 1
	}
	img, err := newImage(content)
	if err != nil {
		return err
	}
	defer img.close()
	b, err := unix.Mmap(-1, 0, 3*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(b) }() // it was mapped above
	if err := img.mapOver(b); err != nil {
		return err
	}
	want := append(bytes.Clone(content), make([]byte, pageSize)...)
	if !bytes.Equal(b, want) {
		return errors.New("a mapped image does not show its content")
	}
	b[0], b[2*pageSize-1], b[2*pageSize] = 0xa5, 0xa5, 0xa5
	private, err := img.restore(b, pages)
	if err != nil {
		return err
	}
	if !bytes.Equal(b, want) {
		return errors.New("a memory was not restored")
	}
	if want := int64(3 * unix.Getpagesize()); pages != nil && private != want {
		return fmt.Errorf("%d bytes were found to be private, not %d", private, want)
	}
	if !bytes.Equal(img.view, content) {
		return errors.New("an image was changed through a memory")
	}
	return nil
}
