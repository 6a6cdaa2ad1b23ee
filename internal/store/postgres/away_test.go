package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
)

// refusedWithin commits an event, which the database does not get, and wants the caller to know it so soon.
func refusedWithin(t *testing.T, s kernel.Store, b kernel.Batch, within time.Duration) {
	t.Helper()
	begun := time.Now()
	_, err := s.Commit(t.Context(), b)
	took := time.Since(begun)
	if !errors.Is(err, kernel.ErrUnavailable) || took > within {
		t.Errorf("after %v: %v", took, err)
	}
	t.Logf("after %v: %v", took, err)
}

// answersWithin waits until a store commits again by itself.
func answersWithin(t *testing.T, s kernel.Store, within time.Duration) {
	t.Helper()
	begun := time.Now()
	for n := 0; ; n++ {
		_, err := s.Commit(t.Context(), batch(fmt.Sprint("again-", n, "-", begun.UnixNano())))
		if err == nil {
			t.Logf("it is back after %v", time.Since(begun))
			return
		}
		if time.Since(begun) > within {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// rows is a batch that changes what restricts, which goes another way than events alone.
func rows(id string) kernel.Batch {
	b := batch(id)
	b.StateWrites = []kernel.StateWrite{{Namespace: "n", Key: id, Value: []byte("v")}}
	return b
}

// A server that has ended is known to be away: who was idle asks it nothing, and is told at once. So are those who come
// later, and readers. When it is there again, everything goes on by itself.
func TestADatabaseThatIsGoneBlocksAtOnce(t *testing.T) {
	for name, of := range map[string]func(string) kernel.Batch{
		"events": func(id string) kernel.Batch { return batch(id) }, "rows": rows,
	} {
		t.Run(name, func(t *testing.T) {
			p := pgtest.NewProxy(t)
			o := pgtest.Options(t, "gone")
			o.DSN = p.DSN(t)
			s := pgtest.Open(t, o)
			for round := range 2 {
				commit(t, s, of(fmt.Sprint("before-", round)))
				p.Down(true)
				for n := range 5 {
					refusedWithin(t, s, of(fmt.Sprint(round, "-", n)), time.Second)
				}
				begun := time.Now()
				if _, err := s.Latch(t.Context(), wire.Session{Runtime: "r", Session: "s"}); err == nil ||
					time.Since(begun) > time.Second {
					t.Errorf("a reader: %v, after %v", err, time.Since(begun))
				}
				p.Down(false)
				answersWithin(t, s, 10*time.Second)
			}
		})
	}
}

// An answer is lost, and the server does not come back. The caller whose commit may have happened is told nothing
// before that is known; all others are told at once that nothing is written. Then it is told what is true.
func TestOnlyWhatIsInDoubtWaits(t *testing.T) {
	for name, of := range map[string]func(string) kernel.Batch{
		"events": func(id string) kernel.Batch { return batch(id) }, "rows": rows,
	} {
		lost := map[string]string{"events": "SELECT 1", "rows": "COMMIT"}[name] // what the answer says
		t.Run(name, func(t *testing.T) {
			p := pgtest.NewProxy(t)
			o := pgtest.Options(t, "doubt")
			o.DSN = p.DSN(t)
			s := pgtest.Open(t, o)
			told := map[string]int64{"before": commit(t, s, of("before")).First}
			behind := make(chan error, 3)
			p.Drop(func(b []byte) bool {
				if !bytes.Contains(b, []byte(lost)) {
					return false
				}
				for n := range 3 { // they are behind it, in the writer or on the way there
					go func() {
						_, err := s.Commit(t.Context(), batch(fmt.Sprint("behind-", n)))
						behind <- err
					}()
				}
				time.Sleep(50 * time.Millisecond)
				go p.Down(true)
				return true
			})
			type outcome struct {
				r   kernel.Receipt
				err error
			}
			doubt := make(chan outcome, 1)
			go func() {
				r, err := s.Commit(t.Context(), of("doubt"))
				doubt <- outcome{r, err}
			}()
			for range 3 {
				select {
				case err := <-behind:
					if !errors.Is(err, kernel.ErrUnavailable) {
						t.Errorf("one behind it: %v", err)
					}
				case <-time.After(2 * time.Second):
					t.Fatal("one behind it waits")
				}
			}
			p.Drop(nil)
			for n := range 3 {
				refusedWithin(t, s, of(fmt.Sprint("later-", n)), 200*time.Millisecond)
			}
			select {
			case d := <-doubt:
				t.Errorf("it is told %+v without a look at the log", d)
			case <-time.After(100 * time.Millisecond):
			}
			p.Down(false)
			d := <-doubt
			t.Logf("it is told %+v", d)
			told["doubt"] = d.r.First
			if d.err != nil && !errors.Is(d.err, kernel.ErrUnavailable) {
				t.Error(d.err)
			}
			told["after"] = commit(t, s, of("after")).First
			compare(t, s, told)
		})
	}
}

// A server says nothing any more. A caller waits for it no longer than a statement waits for other kernels, and those
// who come later are told at once. The one whose commit is under way waits for its end.
func TestASilentDatabase(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "silent")
	o.DSN, o.LockTimeout, o.ConnectTimeout = p.DSN(t), 100*time.Millisecond, 300*time.Millisecond
	s := pgtest.Open(t, o)
	commit(t, s, batch("before"))
	p.Silence(true)
	under := make(chan kernel.Receipt, 1)
	go func() {
		r, err := s.Commit(t.Context(), batch("under way"))
		if err != nil {
			t.Error(err)
		}
		under <- r
	}()
	time.Sleep(50 * time.Millisecond)
	refusedWithin(t, s, batch("first"), 3*time.Second)
	for n := range 3 {
		refusedWithin(t, s, batch(fmt.Sprint("later-", n)), 500*time.Millisecond)
	}
	begun := time.Now()
	if _, err := s.Latches(t.Context()); err == nil || time.Since(begun) > 500*time.Millisecond {
		t.Errorf("a reader: %v, after %v", err, time.Since(begun))
	}
	p.Silence(false)
	if r := <-under; r.First != 2 {
		t.Errorf("%+v", r)
	}
	answersWithin(t, s, 10*time.Second)
}
