//go:build !linux

package sandbox

import "errors"

var errNoImage = errors.New("no images of memory on this system")

// image is what a memory can be restored from; there is none here.
type image struct {
	size  uint64
	bytes int64
}

func newImage([]byte) (*image, error) { return nil, errNoImage }

func (*image) close() {}

func (*image) mapOver([]byte) error { return errNoImage }

func (*image) restore([]byte, *pagemap) (int64, error) { return 0, errNoImage }

// pagemap tells which pages were written.
type pagemap struct{}

func (*pagemap) close() {}

func probeReset() (Reset, *pagemap, error) { return ResetNone, nil, errNoImage }
