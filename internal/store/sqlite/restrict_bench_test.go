package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// BenchmarkLatchRead is what each call asks first: by a process that runs, and by one that
// starts and reads all rows that restrict.
func BenchmarkLatchRead(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		path := filepath.Join(b.TempDir(), "belay.db")
		s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		batch := batch("rows")
		for i := range n {
			batch.StateWrites = append(batch.StateWrites,
				kernel.StateWrite{Namespace: "n", Key: strconv.Itoa(i), Value: []byte("1234567890")})
		}
		if _, err := s.Commit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		key := wire.Session{Runtime: "r", Session: "s"}
		b.Run(fmt.Sprint("running/rows=", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Latch(b.Context(), key); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("starting/rows=", n), func(b *testing.B) {
			for b.Loop() {
				cold, err := sqlite.Open(b.Context(), path, sqlite.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := cold.Latch(b.Context(), key); err != nil {
					b.Fatal(err)
				}
				if err := cold.Probe(b.Context(), storetest.T0); err != nil {
					b.Fatal(err)
				}
				if err := cold.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
