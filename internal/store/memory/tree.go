package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/kernel"
)

// grow adds the bodies to the tree as its next leaves, as tlog.StoredHashes says. Preconditions: s.mu is held.
func (s *Store) grow(bodies [][]byte) {
	for i, body := range bodies {
		n := int64(len(s.bodies) + i)
		hash := tlog.RecordHash(body)
		s.tree = append(s.tree, hash)
		for level := 0; n&1 == 1; level++ { // the leaf completes a tree of the next level
			left := s.tree[tlog.StoredHashIndex(level, n-1)]
			hash = tlog.NodeHash(left, hash)
			s.tree = append(s.tree, hash)
			n >>= 1
		}
	}
}

func pick[H ~[32]byte](tree []H, indexes []int64) ([]H, error) {
	out := make([]H, len(indexes))
	for i, x := range indexes {
		if x < 0 || x >= int64(len(tree)) {
			return nil, fmt.Errorf("%w: the tree has no hash %d", kernel.ErrUnavailable, x)
		}
		out[i] = tree[x]
	}
	return out, nil
}

// LogSize implements kernel.Store.
func (s *Store) LogSize(ctx context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.bodies)), s.enter(ctx)
}

// LogLeaves implements kernel.Store.
func (s *Store) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var out []kernel.LogLeaf
	for i := max(after, s.given.Through-s.given.Left, 0); i < int64(len(s.bodies)) && len(out) < limit; i++ {
		out = append(out, kernel.LogLeaf{Seq: i + 1, Body: slices.Clone(s.bodies[i]), Copies: true})
	}
	return out, nil
}

// LogHashes implements kernel.Store.
func (s *Store) LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	found, err := pick(s.tree, indexes)
	out := make([][32]byte, len(found))
	for i, h := range found {
		out[i] = h
	}
	return out, err
}

// AddCheckpoint implements kernel.Store.
func (s *Store) AddCheckpoint(ctx context.Context, size int64, note []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.notes = append(s.notes, slices.Clone(note))
	return nil
}

// Checkpoints implements kernel.Store.
func (s *Store) Checkpoints(ctx context.Context) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	out := make([][]byte, len(s.notes))
	for i, n := range s.notes {
		out[i] = slices.Clone(n)
	}
	return out, nil
}

// DropCheckpoints implements kernel.Store.
func (s *Store) DropCheckpoints(ctx context.Context, notes [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.notes = slices.DeleteFunc(s.notes, func(n []byte) bool {
		return slices.ContainsFunc(notes, func(drop []byte) bool { return bytes.Equal(n, drop) })
	})
	return nil
}

// LogCompacted implements kernel.Store.
func (s *Store) LogCompacted(ctx context.Context) (kernel.Compacted, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given, s.enter(ctx)
}

// LogRemove implements kernel.Store.
func (s *Store) LogRemove(ctx context.Context, limit int) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	for range min(int64(limit), s.given.Left) {
		s.bodies[s.given.Through-s.given.Left] = nil
		s.given.Left--
	}
	return s.given.Left, nil
}
