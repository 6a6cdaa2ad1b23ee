package outside

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// LogSize implements kernel.Log.
func (s *Store) LogSize(ctx context.Context) (int64, error) {
	return view(ctx, s, func(*rows) int64 { return int64(len(s.bodies)) })
}

// LogLeaves implements kernel.Log.
func (s *Store) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	return view(ctx, s, func(r *rows) (out []kernel.LogLeaf) {
		for i := max(after, r.gone.Through-r.gone.Left, 0); i < int64(len(s.bodies)) && len(out) < limit; i++ {
			out = append(out, kernel.LogLeaf{Seq: i + 1, Body: slices.Clone(s.bodies[i]), Copies: true})
		}
		return out
	})
}

// LogHashes implements kernel.Log.
func (s *Store) LogHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	hashes, err := reader(&s.tree).ReadHashes(indexes)
	var out [][32]byte
	for _, h := range hashes {
		out = append(out, h)
	}
	return out, err
}

// AddCheckpoint implements kernel.Log.
func (s *Store) AddCheckpoint(ctx context.Context, _ int64, note []byte) error {
	_, err := view(ctx, s, func(*rows) bool { s.notes = append(s.notes, slices.Clone(note)); return true })
	return err
}

// Checkpoints implements kernel.Log.
func (s *Store) Checkpoints(ctx context.Context) ([][]byte, error) {
	return view(ctx, s, func(*rows) (out [][]byte) {
		for _, n := range s.notes {
			out = append(out, slices.Clone(n))
		}
		return out
	})
}

// DropCheckpoints implements kernel.Log.
func (s *Store) DropCheckpoints(ctx context.Context, notes [][]byte) error {
	_, err := view(ctx, s, func(*rows) bool { s.notes = slices.DeleteFunc(s.notes, same(notes)); return true })
	return err
}

// LogCompacted implements kernel.Log.
func (s *Store) LogCompacted(ctx context.Context) (kernel.Compacted, error) {
	return view(ctx, s, func(r *rows) kernel.Compacted { return r.gone })
}

// LogRemove implements kernel.Log.
func (s *Store) LogRemove(ctx context.Context, limit int) (int64, error) {
	return view(ctx, s, func(r *rows) int64 {
		for range min(int64(limit), r.gone.Left) {
			s.bodies[r.gone.Through-r.gone.Left] = nil
			r.gone.Left--
		}
		return r.gone.Left
	})
}

// Restrictions implements kernel.Log.
func (s *Store) Restrictions(ctx context.Context) (out kernel.Restrictions, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return out, err
	}
	out.Seq, out.Since, out.Latches = int64(len(s.bodies)), min(1, int64(len(s.bodies))), s.rows.latchesByAge()
	if out.Tables, out.Found, err = s.rows.digest(); err != nil || out.Seq == 0 {
		return out, err
	}
	var e phases.Event
	if err := json.Unmarshal(s.bodies[out.Seq-1], &e); err != nil {
		return out, fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
	}
	if out.Recorded = e.Restrictions; out.Recorded != out.Found {
		out.Tampered = &kernel.Tampered{Seq: out.Seq}
	}
	return out, nil
}

// digest returns the digests of the tables and the one over them; see kernel.Restrictions.
func (r *rows) digest() (tables []byte, root string, err error) {
	type lease struct {
		Lease       any
		Boot        string
		From, Until int64
	}
	held := map[string]lease{}
	for id, l := range r.leases {
		held[id] = lease{l, l.Boot, int64(l.BootFrom), int64(l.BootUntil)}
	}
	for _, sum := range []func() ([32]byte, error){
		table(r.latches), table(r.queue), table(held), table(r.runs), table(r.state),
		table(map[string]int64{"version": r.version}), table(map[string]time.Time{"high": r.high}),
		table(map[string]int64{"through": r.gone.Through, "event": r.gone.Event}),
	} {
		d, err := sum()
		if err != nil {
			return nil, "", fmt.Errorf("%w: %w", kernel.ErrUnavailable, err)
		}
		tables = append(tables, d[:]...)
	}
	tables = append(tables, make([]byte, 512-len(tables))...)
	d := sha256.Sum256(append([]byte{3}, tables...))
	return tables, "sha256:" + hex.EncodeToString(d[:]), nil
}

// table digests the rows of a table, in an order of its own.
func table[K comparable, V any](rows map[K]V) func() ([32]byte, error) {
	return func() ([32]byte, error) {
		var lines []string
		for k, v := range rows {
			b, err := json.Marshal([]any{k, v}, json.Deterministic(true))
			if err != nil {
				return [32]byte{}, err
			}
			lines = append(lines, string(b))
		}
		slices.Sort(lines)
		b, err := json.Marshal(lines)
		return sha256.Sum256(b), err
	}
}
