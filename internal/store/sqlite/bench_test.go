package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/sqlite"
)

// medians measures each call of f by itself.
func medians(b *testing.B, f func() error) {
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "median-ns")
}

// BenchmarkSync is the yardstick: one event's worth of bytes, appended and synced.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := make([]byte, 512)
	medians(b, func() error {
		_, err := f.Write(line)
		return errors.Join(err, f.Sync())
	})
}

// BenchmarkDurable is one durable event, by one caller and by 64 at once.
func BenchmarkDurable(b *testing.B) {
	open := func(b *testing.B) *sqlite.Store {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "belay.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		return s
	}
	b.Run("callers=1", func(b *testing.B) {
		s, i := open(b), 0
		medians(b, func() error {
			i++
			_, err := s.Commit(context.Background(), batch("e"+strconv.Itoa(i)))
			return err
		})
	})
	b.Run("callers=64", func(b *testing.B) {
		s := open(b)
		var next atomic.Int64
		var wg sync.WaitGroup
		b.ResetTimer()
		for range 64 {
			wg.Go(func() {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					if _, err := s.Commit(b.Context(), batch("e"+strconv.FormatInt(i, 10))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}
