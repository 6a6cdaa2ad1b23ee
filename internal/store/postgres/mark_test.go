package postgres_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// markedKernel is a kernel with its mark in a directory of its own.
type markedKernel struct {
	t     *testing.T
	o     postgres.Options
	dir   string
	guard *highwater.Guard
	*postgres.Store
}

// openMarked opens a kernel with a new mark.
func openMarked(t *testing.T, o postgres.Options) *markedKernel {
	t.Helper()
	m := &markedKernel{t: t, o: o, dir: t.TempDir()}
	return m.again()
}

// again is another process of the kernel.
func (m *markedKernel) again() *markedKernel {
	m.t.Helper()
	next := &markedKernel{t: m.t, o: m.o, dir: m.dir}
	next.guard = next.newGuard()
	next.o.Mark = next.guard
	next.Store = pgtest.Open(m.t, next.o)
	return next
}

func (m *markedKernel) newGuard() *highwater.Guard {
	return highwater.New(highwater.Options{Dir: filepath.Join(m.dir, "marks"), Name: "m",
		Record: filepath.Join(m.dir, "high-water.json")})
}

func (m *markedKernel) close() {
	m.t.Helper()
	if err := m.Close(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *markedKernel) commit(b kernel.Batch) error {
	_, err := m.Commit(m.t.Context(), b)
	return err
}

func (m *markedKernel) must(b kernel.Batch) {
	m.t.Helper()
	if err := m.commit(b); err != nil {
		m.t.Fatal(err)
	}
}

func (m *markedKernel) wantRollback(says string) {
	m.t.Helper()
	err := m.commit(batch("after"))
	if !errors.Is(err, kernel.ErrRollback) || !errors.Is(err, kernel.ErrUnavailable) ||
		!strings.Contains(err.Error(), says) {
		m.t.Fatalf("a commit answers %v, want a rollback that says %q", err, says)
	}
	if err := m.CheckMark(m.t.Context()); !errors.Is(err, kernel.ErrRollback) {
		m.t.Fatalf("a check answers %v", err)
	}
	if err := m.AddCheckpoint(m.t.Context(), 1, []byte("note")); !errors.Is(err, kernel.ErrRollback) {
		m.t.Fatalf("a checkpoint answers %v", err)
	}
}

func approved(id string) kernel.Batch {
	d := &approvals.Decision{Verdict: approvals.Approve, At: storetest.T0, Until: storetest.T0.Add(10 * time.Minute)}
	b := batch("made-" + id)
	b.Approvals = []approvals.Op{
		{Create: &approvals.Item{ID: id, Kind: approvals.KindAsk, Key: id, State: approvals.Pending, Created: storetest.T0,
			Expires: storetest.T0.Add(10 * time.Minute)}, Quota: 10},
		{Change: &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Approved, Decision: d,
			At: storetest.Wall(storetest.T0)}},
	}
	return b
}

func use(id string) kernel.Batch {
	b := kernel.Batch{Now: storetest.T0,
		Events: []phases.Event{{ID: "use-" + id, Type: phases.EventApproval, Decision: "consumed", Time: storetest.T0,
			Output: []byte(`{"approval":"` + id + `"}`)}}}
	b.Approvals = []approvals.Op{{Change: &approvals.Change{ID: id, From: approvals.Approved, To: approvals.Consumed,
		At: storetest.Wall(storetest.T0)}}}
	return b
}

func mint(id string, uses int64) kernel.Batch {
	l := leases.Lease{ID: id, Holder: leases.Holder{Runtime: "r", Session: "s", Agent: "a"}, Capability: "tool:exec",
		NotBefore: storetest.T0, ExpiresAt: storetest.T0.Add(time.Hour), MaxTTLS: 3600, MaxUses: uses, State: leases.Active,
		Token: []byte(id)}
	b := batch("minted-" + id)
	b.Leases = []leases.Op{{Kind: leases.OpMint, At: storetest.Wall(storetest.T0), Lease: l, Quota: 5}}
	return b
}

func claim(id, event string) kernel.Batch {
	b := batch(event)
	b.Leases = []leases.Op{{Kind: leases.OpClaim, At: storetest.Wall(storetest.T0), ID: id,
		By: leases.Holder{Runtime: "r", Session: "s", Agent: "a"}}}
	return b
}

func latched(event string) kernel.Batch {
	b := batch(event)
	b.Latch = &kernel.Latch{Runtime: "r", Session: "s", Since: storetest.T0}
	return b
}

// A store with a mark keeps the contract.
func TestStoreWithAMark(t *testing.T) {
	pgtest.DSN(t)
	storetest.Run(t, func(t *testing.T) kernel.Store { return openMarked(t, pgtest.Options(t, "marked")).Store })
}

// The database is made older after an approval was used: it passed again, as often as one liked.
func TestADatabaseThatWentBackIsNoticed(t *testing.T) {
	for _, while := range []string{"open", "closed"} {
		t.Run(while, func(t *testing.T) {
			p := pgtest.NewProxy(t)
			o := pgtest.Options(t, "k")
			o.DSN = p.DSN(t)
			m := openMarked(t, o)
			m.must(approved("a"))
			restore := save(t, o.Schema)
			m.must(use("a"))
			if while == "closed" {
				m.close()
			}
			restore()
			if while == "closed" {
				m = m.again()
			} else {
				p.Cut()
			}
			if err := m.commit(use("a")); !errors.Is(err, kernel.ErrRollback) {
				t.Fatalf("the second use answers %v", err)
			}
			m.wantRollback(`the log of kernel "k" holds 1 events, and held 2: events 2 to 2 are gone`)
		})
	}
}

// A copy that was written to until it is as long is another log.
func TestADatabaseThatWentBackAndGrewAgainIsNoticed(t *testing.T) {
	for _, while := range []string{"open", "closed"} {
		t.Run(while, func(t *testing.T) {
			p := pgtest.NewProxy(t)
			o := pgtest.Options(t, "k")
			direct := o
			o.DSN = p.DSN(t)
			m := openMarked(t, o)
			m.must(batch("e1"))
			restore := save(t, o.Schema)
			m.must(batch("e2"))
			if while == "closed" {
				m.close()
			} else {
				p.Down(true)
			}
			restore()
			// Another machine has the same name, and no mark.
			pgtest.Exec(t, o.Schema, "UPDATE kernels SET renewed = '-infinity', mark = ''")
			plain := pgtest.Open(t, direct)
			for _, id := range []string{"x2", "x3", "x4"} {
				commit(t, plain, batch(id))
			}
			if err := plain.Close(); err != nil {
				t.Fatal(err)
			}
			p.Down(false)
			if while == "closed" {
				m = m.again()
			}
			m.wantRollback(`the first 2 events of the log of kernel "k" are not those that it held`)
		})
	}
}

// What this kernel has seen of another one is gone, and its own log is as it was. It notices also after a restart, and
// also when the number of the version was used again.
func TestWhatWasSeenOfOthersIsRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		again int // versions that a third kernel makes afterwards
		says  string
	}{
		"fewer":   {0, `the rows that restrict are of version 2, and were of version 3, which event 2 of kernel "b" records`},
		"as many": {1, `the log of kernel "b" lacks event 2, which recorded the rows that restrict of version 3`},
		"more":    {3, `the log of kernel "b" lacks event 2, which recorded the rows that restrict of version 3`},
	} {
		t.Run(name, func(t *testing.T) {
			o := pgtest.Options(t, "a")
			m := openMarked(t, o)
			m.must(value("a"))
			o.Kernel = "b"
			other := pgtest.Open(t, o)
			commit(t, other, value("b"))
			restore := save(t, o.Schema)
			commit(t, other, latched("latch"))
			b := batch("refused") // it looks at what restricts, and writes nothing
			key := (&kernel.Latch{Runtime: "r", Session: "other"}).Key()
			b.ClearLatch = &key
			if err := m.commit(b); !errors.Is(err, kernel.ErrConflict) {
				t.Fatal(err)
			}
			if err := m.CheckMark(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.close()
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			restore()
			o.Kernel = "c"
			third := pgtest.Open(t, o)
			for n := range c.again {
				commit(t, third, value(string(rune('m'+n))))
			}
			m = m.again()
			m.wantRollback(c.says)
		})
	}
}

// The newest database is there again, as after a failover that is undone: nothing is to be recovered.
func TestTheNewestDatabaseIsThereAgain(t *testing.T) {
	o := pgtest.Options(t, "k")
	m := openMarked(t, o)
	m.must(value("e1"))
	old := save(t, o.Schema)
	m.must(value("e2"))
	m.close()
	newest := saveAs(t, o.Schema, "newest")
	old()
	m = m.again()
	m.wantRollback("events 2 to 2 are gone")
	newest()
	deadline := time.Now().Add(10 * time.Second)
	for err := m.commit(batch("e3")); err != nil; err = m.commit(batch("e3")) {
		if !errors.Is(err, kernel.ErrRollback) || time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestAMarkThatIsGoneIsNoticed(t *testing.T) {
	gone := func(t *testing.T, m *markedKernel) {
		if err := os.Remove(m.guard.Path()); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("while open", func(t *testing.T) {
		m := openMarked(t, pgtest.Options(t, "k"))
		m.must(batch("e1"))
		gone(t, m)
		m.wantRollback("the high-water mark is missing")
	})
	t.Run("with what says so in keys", func(t *testing.T) {
		m := openMarked(t, pgtest.Options(t, "k"))
		m.must(batch("e1"))
		m.close()
		gone(t, m)
		if err := os.Remove(filepath.Join(m.dir, "high-water.json")); err != nil {
			t.Fatal(err)
		}
		m.again().wantRollback("the database says that it has one")
	})
	t.Run("an older one lags", func(t *testing.T) {
		m := openMarked(t, pgtest.Options(t, "k"))
		m.must(batch("e1"))
		old, err := os.ReadFile(m.guard.Path())
		if err != nil {
			t.Fatal(err)
		}
		m.must(batch("e2"))
		if err := os.WriteFile(m.guard.Path(), old, 0o600); err != nil {
			t.Fatal(err)
		}
		m.must(batch("e3"))
	})
	t.Run("another kernel's", func(t *testing.T) {
		o := pgtest.Options(t, "a")
		m := openMarked(t, o)
		m.must(batch("e1"))
		o.Kernel = "b"
		other := openMarked(t, o)
		other.must(batch("e1"))
		other.close()
		other.dir = m.dir
		m.close()
		other.again().wantRollback("it is another database than the one of the mark")
	})
}

// Looking makes no mark; the first events do, with an event of its own where there are events already.
func TestALogOfTodayIsAdoptedOnce(t *testing.T) {
	o := pgtest.Options(t, "k")
	plain := pgtest.Open(t, o)
	commit(t, plain, batch("e1"))
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	m := openMarked(t, o)
	if err := m.CheckMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.guard.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("looking made a mark: %v", err)
	}
	m.must(batch("e2"))
	m.must(batch("e3"))
	m.close()
	m = m.again()
	m.must(batch("e4"))
	es, err := m.Events(t.Context(), wire.Query{})
	if err != nil || len(es) != 5 || es[1].Type != phases.EventNotice ||
		!strings.Contains(es[1].Reason, "high-water mark") {
		t.Fatalf("%+v, %v", es, err)
	}
	storetest.CheckLog(t, m.Store)
}

// A mark that cannot be made is no reason to block, and is said.
func TestAKernelWithoutAPlaceForItsMark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := pgtest.Options(t, "k")
	o.Mark = highwater.New(highwater.Options{Dir: filepath.Join(file, "marks"), Name: "m"})
	s := pgtest.Open(t, o)
	commit(t, s, batch("e1"))
	if err := s.MarkTrouble(); !errors.Is(err, highwater.ErrNoPlace) {
		t.Errorf("the trouble is %v", err)
	}
}

// A process that ends between noting a use and committing it has used it.
func TestANotedUseWithoutACommitCountsAsUsed(t *testing.T) {
	m := openMarked(t, pgtest.Options(t, "k"))
	m.must(approved("a"))
	m.must(mint("l", 3))
	st, _, err := m.guard.Look()
	if err != nil {
		t.Fatal(err)
	}
	until := storetest.T0.Add(time.Hour).Unix()
	uses := []highwater.Use{{ID: highwater.Approval + "a", Event: "use-a", Until: until},
		{ID: highwater.Lease + "l", Count: 1, Until: until}, {ID: highwater.Approval + "gone", Until: until},
		{ID: highwater.Statement + "s", Event: "statement", Until: time.Now().Add(time.Hour).Unix()}}
	if err := m.newGuard().Intend(st.Epoch, st.Head, uses, storetest.T0); err != nil {
		t.Fatal(err)
	}
	if err := m.CheckMark(t.Context()); err != nil { // also of a store that was open all the time
		t.Fatal(err)
	}
	if err := m.commit(use("a")); !errors.Is(err, kernel.ErrConflict) && !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("the use answers %v", err)
	}
	if it, err := m.Approval(t.Context(), "a"); err != nil || it.State != approvals.Consumed {
		t.Errorf("%+v, %v", it, err)
	}
	if l, err := m.Lease(t.Context(), "l"); err != nil || l.Uses != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	for _, id := range []string{"use-a", "statement"} {
		es, err := m.Events(t.Context(), wire.Query{ID: id})
		if err != nil || len(es) != 1 || es[0].Reason == "" {
			t.Errorf("%s: %+v, %v", id, es, err)
		}
	}
	size, _ := m.LogSize(t.Context())
	m.close()
	m = m.again()
	if err := m.CheckMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, _ := m.LogSize(t.Context()); again != size {
		t.Errorf("it was written down again: %d events, then %d", size, again)
	}
	storetest.CheckLog(t, m.Store)
}

// failingMark fails when something is about to be used.
type failingMark struct {
	marked.Mark
	err error
}

func (f failingMark) Intend(int64, highwater.Head, []highwater.Use, time.Time) error { return f.err }

func TestAUseThatCannotBeNotedDoesNotHappen(t *testing.T) {
	m := openMarked(t, pgtest.Options(t, "k"))
	m.must(approved("a"))
	m.close()
	m.o.Mark = failingMark{m.newGuard(), errors.New("no space left on device")}
	s := pgtest.Open(t, m.o)
	if _, err := s.Commit(t.Context(), use("a")); !errors.Is(err, kernel.ErrUnavailable) ||
		errors.Is(err, kernel.ErrRollback) {
		t.Errorf("the use answers %v", err)
	}
	if it, err := s.Approval(t.Context(), "a"); err != nil || it.State != approvals.Approved {
		t.Errorf("%+v, %v", it, err)
	}
}

// The connection breaks at a claim of which it is known afterwards that it was not committed. It is tried again, and
// counts once, although it was noted twice.
func TestAUseThatIsTriedAgainCountsOnce(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "k")
	m := openMarked(t, o)
	m.must(approved("a"))
	m.must(mint("l", 1))
	m.close()
	m.o.DSN = p.DSN(t)
	cut := &cuttingMark{Mark: m.newGuard(), cut: p.Cut}
	m.o.Mark = cut
	s := pgtest.Open(t, m.o)
	for what, b := range map[string]kernel.Batch{"the approval": use("a"), "the lease": claim("l", "claimed")} {
		cut.times = 1
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if it, err := s.Approval(t.Context(), "a"); err != nil || it.State != approvals.Consumed {
		t.Errorf("%+v, %v", it, err)
	}
	if l, err := s.Lease(t.Context(), "l"); err != nil || l.Uses != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	m.o.Mark = nil
	if err := m.again().CheckMark(t.Context()); err != nil {
		t.Error(err)
	}
}

// cuttingMark cuts the connection when a use was noted, before it is committed.
type cuttingMark struct {
	marked.Mark
	cut   func()
	times int
}

func (c *cuttingMark) Intend(epoch int64, h highwater.Head, uses []highwater.Use, now time.Time) error {
	err := c.Mark.Intend(epoch, h, uses, now)
	if c.times--; c.times == 0 {
		c.cut()
	}
	return err
}
