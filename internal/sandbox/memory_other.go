//go:build !unix

package sandbox

import "fmt"

// region is a slice that is made anew when it must grow: without reserved address
// space a grown memory is there twice for a moment.
type region struct {
	b    []byte
	most uint64
}

func reserve(most uint64) (region, error) { return region{most: most}, nil }

func (r *region) commit(_, size uint64) ([]byte, error) {
	if size > r.most {
		return nil, fmt.Errorf("%d bytes are more than the %d allowed", size, r.most)
	}
	b := make([]byte, size)
	copy(b, r.b)
	r.b = b
	return b, nil
}

func (*region) usable(size uint64) uint64 { return size }

// clear reports that there is nothing worth keeping.
func (r *region) clear(uint64) bool { return false }

func (r *region) release() { r.b = nil }
