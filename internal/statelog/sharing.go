package statelog

import (
	"context"

	"github.com/belay-hooks/belay/internal/store/dry"
	"github.com/belay-hooks/belay/kernel"
)

// Sharing is a store that other kernels write to, too. It has the keys of the digests that they compare with each
// other, by the uses of package keyring, and finds events in the logs of all of them.
type Sharing interface {
	kernel.Elsewhere
	SharedKeys(ctx context.Context) (map[string][]byte, error) // the error is kernel.ErrUnavailable
}

// Sharing returns the store if other kernels share it, else nil.
func (s *Storage) Sharing() Sharing {
	shared, _ := s.Engine().(Sharing)
	return shared
}

// Engine returns the store itself, without what drops writes, or compares it with its mark.
func (s *Storage) Engine() kernel.Store {
	store := s.Store
	if d, ok := store.(dry.Store); ok {
		store = d.Store
	}
	if d, ok := store.(*Database); ok {
		store = d.engine
	}
	return store
}

// Warning says what is not as it should be with the store while it works; "": nothing is.
func (s *Storage) Warning() string {
	if w, ok := s.Engine().(interface{ Warning() string }); ok {
		return w.Warning()
	}
	return ""
}
