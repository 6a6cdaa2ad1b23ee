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

	"github.com/belay-hooks/belay/internal/highwater"
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

// BenchmarkUse is one commit that uses up a use of a lease: with no mark, and with one,
// which notes the use with a sync of its own before the commit. Commits that use up
// nothing are beside it.
func BenchmarkUse(b *testing.B) {
	for _, with := range []string{"none", "mark"} {
		for _, what := range []string{"use", "event"} {
			b.Run("mark="+with+"/"+what, func(b *testing.B) {
				dir := b.TempDir()
				o := sqlite.Options{}
				if with == "mark" {
					o.Mark = highwater.New(highwater.Options{Dir: filepath.Join(dir, "marks"), Name: "m"})
				}
				s, err := sqlite.Open(b.Context(), filepath.Join(dir, "belay.db"), o)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { s.Close() })
				if _, err := s.Commit(b.Context(), mint("l", 1<<40)); err != nil {
					b.Fatal(err)
				}
				i := 0
				medians(b, func() error {
					i++
					c := batch("e" + strconv.Itoa(i))
					if what == "use" {
						c = claim("l", "e"+strconv.Itoa(i))
					}
					_, err := s.Commit(context.Background(), c)
					return err
				})
			})
		}
	}
}
