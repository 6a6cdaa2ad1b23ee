package postgres_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// endingMark is the mark of a process that ends at one of its calls: from then on nothing that the process does reaches
// the mark or the database.
type endingMark struct {
	marked.Mark
	at, calls int
	after     bool // the call still reaches the mark
	end       func()
	ended     atomic.Bool
}

func errEnded() error { return errors.New("the process has ended") }

func (m *endingMark) call(f func() error) error {
	if m.ended.Load() {
		return errEnded()
	}
	m.calls++
	if m.calls != m.at {
		return f()
	}
	defer m.end()
	if m.ended.Store(true); !m.after {
		return errEnded()
	}
	return f()
}

func (m *endingMark) Adopt(store string, h highwater.Head) error {
	return m.call(func() error { return m.Mark.Adopt(store, h) })
}

func (m *endingMark) Intend(epoch int64, h highwater.Head, uses []highwater.Use, now time.Time) error {
	return m.call(func() error { return m.Mark.Intend(epoch, h, uses, now) })
}

func (m *endingMark) Advance(epoch int64, h highwater.Head) error {
	return m.call(func() error { return m.Mark.Advance(epoch, h) })
}

// The process ends at each of its calls to the mark, before or after it. The next one takes no crash for a rollback,
// what was acknowledged as used stays used, and every use in the database was noted before.
func TestProcessesThatEndAtTheirMark(t *testing.T) {
	for at := 1; ; at++ {
		for _, after := range []bool{false, true} {
			p := pgtest.NewProxy(t)
			m := &markedKernel{t: t, o: pgtest.Options(t, "k"), dir: t.TempDir()}
			direct := m.o.DSN
			gone := make(chan struct{})
			ending := &endingMark{Mark: m.newGuard(), at: at, after: after, end: func() { p.Down(true); close(gone) }}
			m.o.DSN, m.o.Mark, m.o.Hold = p.DSN(t), ending, 3*time.Second
			s, err := postgres.Open(t.Context(), m.o)
			if err != nil {
				t.Fatal(err)
			}
			told := map[string]bool{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for _, b := range []kernel.Batch{batch("first"), approved("a"), mint("l", 2), use("a"), claim("l", "claimed"),
					batch("last")} {
					_, err := s.Commit(context.Background(), b)
					if told[b.Events[0].ID] = err == nil; ending.ended.Load() {
						return
					}
				}
			}()
			select {
			case <-done:
			case <-gone: // whose commit may wait for the server, to know what became of it
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			<-done
			m.o.DSN = direct
			pgtest.Exec(t, m.o.Schema, "UPDATE kernels SET renewed = '-infinity'") // the next one need not wait
			m = m.again()
			checkAfterCrash(t, m, told)
			m.close()
			if !ending.ended.Load() {
				if at < 8 {
					t.Errorf("there were only %d calls to the mark", at)
				}
				return
			}
		}
	}
}

func checkAfterCrash(t *testing.T, m *markedKernel, told map[string]bool) {
	t.Helper()
	if err := m.CheckMark(t.Context()); err != nil {
		t.Fatalf("a crash passes for a rollback: %v", err)
	}
	st, _, err := m.guard.Look()
	if err != nil {
		t.Fatal(err)
	}
	noted := func(id string) int64 {
		if st == nil || st.Uses[id].ID == "" {
			return 0
		}
		return max(1, st.Uses[id].Count)
	}
	it, err := m.Approval(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	used := it != nil && it.State == approvals.Consumed
	if used != (noted(highwater.Approval+"a") > 0) || told["use-a"] && !used {
		t.Errorf("the approval is %+v; told %v, noted %d", it, told, noted(highwater.Approval+"a"))
	}
	l, err := m.Lease(t.Context(), "l")
	if err != nil {
		t.Fatal(err)
	}
	uses := int64(0)
	if l != nil {
		uses = l.Uses
	}
	if uses != noted(highwater.Lease+"l") || told["claimed"] && uses != 1 {
		t.Errorf("the lease has %d uses; told %v, noted %d", uses, told, noted(highwater.Lease+"l"))
	}
	m.must(batch("after"))
	storetest.CheckLog(t, m.Store)
}
