package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// markedStore is a database with its mark in another directory.
type markedStore struct {
	t     *testing.T
	path  string
	guard *highwater.Guard
	*sqlite.Store
}

func openMarked(t *testing.T) *markedStore {
	dir := t.TempDir()
	m := &markedStore{t: t, path: filepath.Join(dir, "state", "belay.db")}
	if err := os.Mkdir(filepath.Dir(m.path), 0o700); err != nil {
		t.Fatal(err)
	}
	m.guard = m.newGuard()
	m.Store = open(t, m.path, sqlite.Options{Mark: m.guard})
	return m
}

func (m *markedStore) newGuard() *highwater.Guard {
	dir := filepath.Dir(filepath.Dir(m.path))
	return highwater.New(highwater.Options{Dir: filepath.Join(dir, "marks"), Name: "m",
		Record: filepath.Join(dir, "state", "high-water.json")})
}

// again is another process with the same database.
func (m *markedStore) again() *markedStore {
	next := &markedStore{t: m.t, path: m.path, guard: m.newGuard()}
	next.Store = open(m.t, m.path, sqlite.Options{Mark: next.guard})
	return next
}

func (m *markedStore) commit(b kernel.Batch) error {
	_, err := m.Commit(m.t.Context(), b)
	return err
}

func (m *markedStore) must(b kernel.Batch) {
	m.t.Helper()
	if err := m.commit(b); err != nil {
		m.t.Fatal(err)
	}
}

func (m *markedStore) wantRollback(says string) {
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

// backup and restore are what the sqlite3 shell does with .backup and .restore.
func (m *markedStore) backup(to string) {
	m.t.Helper()
	c, err := sqlite3.Open(m.path)
	if err == nil {
		err = errors.Join(c.Backup("main", to), c.Close())
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *markedStore) restore(from string) {
	m.t.Helper()
	c, err := sqlite3.Open(m.path)
	if err == nil {
		err = errors.Join(c.Restore("main", from), c.Close())
	}
	if err != nil {
		m.t.Fatal(err)
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

var holder = leases.Holder{Runtime: "r", Session: "s", Agent: "a"}

func mint(id string, uses int64) kernel.Batch {
	l := leases.Lease{ID: id, Holder: holder, Capability: "tool:exec", NotBefore: storetest.T0,
		ExpiresAt: storetest.T0.Add(time.Hour), MaxTTLS: 3600, MaxUses: uses,
		State: leases.Active, Token: []byte(id)}
	b := batch("minted-" + id)
	b.Leases = []leases.Op{{Kind: leases.OpMint, At: leases.Instant{Wall: storetest.T0}, Lease: l, Quota: 5}}
	return b
}

func claim(id, event string) kernel.Batch {
	b := batch(event)
	b.Leases = []leases.Op{{Kind: leases.OpClaim, At: leases.Instant{Wall: storetest.T0}, ID: id, By: holder}}
	return b
}

// A store with a mark keeps the whole contract.
func TestStoreWithAMark(t *testing.T) {
	storetest.Run(t, func(t *testing.T) kernel.Store { return openMarked(t).Store })
}

// .backup after an approval, use it, .restore: the approval passed again, as often as
// one liked, also under a store that stays open.
func TestARestoredDatabaseIsNoticed(t *testing.T) {
	for _, while := range []string{"open", "closed"} {
		t.Run(while, func(t *testing.T) {
			m := openMarked(t)
			m.must(approved("a"))
			old := filepath.Join(t.TempDir(), "backup.db")
			m.backup(old)
			m.must(use("a"))
			if while == "closed" {
				m.Close()
			}
			m.restore(old)
			if while == "closed" {
				m = m.again()
			}
			if err := m.commit(use("a")); !errors.Is(err, kernel.ErrRollback) {
				t.Fatalf("the second use answers %v", err)
			}
			m.wantRollback("it holds 1 events, and held 2")
		})
	}
}

// A copy that was written to until it is as long is another log.
func TestARestoredDatabaseThatGrewAgainIsNoticed(t *testing.T) {
	m := openMarked(t)
	m.must(batch("e1"))
	old := filepath.Join(t.TempDir(), "backup.db")
	m.backup(old)
	m.must(batch("e2"))
	m.Close()
	m.restore(old)
	plain := open(t, m.path, sqlite.Options{})
	for _, id := range []string{"x2", "x3", "x4"} {
		if _, err := plain.Commit(t.Context(), batch(id)); err != nil {
			t.Fatal(err)
		}
	}
	plain.Close()
	m.again().wantRollback("its first 2 events are not those that it held")
}

func TestARemovedOrReplacedDatabaseIsNoticed(t *testing.T) {
	remove := func(t *testing.T, m *markedStore) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(m.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	t.Run("removed while open", func(t *testing.T) {
		m := openMarked(t)
		m.must(batch("e1"))
		remove(t, m)
		m.wantRollback("the file was removed while it was open")
		m.wantRollback("") // and stays so
	})
	t.Run("removed while closed", func(t *testing.T) {
		m := openMarked(t)
		m.must(batch("e1"))
		m.Close()
		remove(t, m)
		m.again().wantRollback("it holds 0 events, and held 1")
	})
	t.Run("replaced while open", func(t *testing.T) {
		m := openMarked(t)
		m.must(batch("e1"))
		old := filepath.Join(t.TempDir(), "old.db")
		m.backup(old)
		m.must(batch("e2"))
		remove(t, m)
		if err := os.Rename(old, m.path); err != nil {
			t.Fatal(err)
		}
		m.wantRollback("it holds 1 events, and held 2")
		if es, err := m.Events(t.Context(), wire.Query{}); err != nil || len(es) != 1 {
			t.Errorf("reading goes on in the file that is gone: %d events, %v", len(es), err)
		}
	})
	t.Run("the newest one is put back", func(t *testing.T) {
		m := openMarked(t)
		m.must(batch("e1"))
		copied := filepath.Join(t.TempDir(), "copy.db")
		m.backup(copied)
		remove(t, m)
		if err := os.Rename(copied, m.path); err != nil {
			t.Fatal(err)
		}
		m.must(batch("e2"))
	})
	t.Run("another database", func(t *testing.T) {
		m := openMarked(t)
		m.must(batch("e1"))
		m.Close()
		other := openMarked(t)
		other.must(batch("e1"))
		other.must(batch("e2"))
		other.Close()
		remove(t, m)
		if err := os.Rename(other.path, m.path); err != nil {
			t.Fatal(err)
		}
		m.again().wantRollback("it is another database than the one of the mark")
	})
}

func TestAMarkThatIsGoneIsNoticed(t *testing.T) {
	gone := func(t *testing.T, m *markedStore) {
		if err := os.Remove(m.guard.Path()); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("while open", func(t *testing.T) {
		m := openMarked(t)
		m.must(batch("e1"))
		gone(t, m)
		m.wantRollback("the high-water mark is missing")
	})
	t.Run("with what says so in keys", func(t *testing.T) {
		m := openMarked(t)
		m.must(batch("e1"))
		m.Close()
		gone(t, m)
		if err := os.Remove(filepath.Join(filepath.Dir(m.path), "high-water.json")); err != nil {
			t.Fatal(err)
		}
		m.again().wantRollback("the database says that it has one")
	})
	t.Run("with a database of before", func(t *testing.T) {
		m := openMarked(t)
		old := filepath.Join(t.TempDir(), "old.db")
		m.backup(old)
		m.must(batch("e1"))
		gone(t, m)
		m.restore(old)
		m.wantRollback("keys/high-water.json says that there is one")
	})
	t.Run("an older one lags", func(t *testing.T) {
		m := openMarked(t)
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
	t.Run("changed", func(t *testing.T) {
		m := openMarked(t)
		m.must(approved("a"))
		m.must(use("a"))
		b, err := os.ReadFile(m.guard.Path())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.guard.Path(), []byte(strings.Replace(string(b), `"epoch":0`, `"epoch":7`, 1)),
			0o600); err != nil {
			t.Fatal(err)
		}
		m.again().wantRollback("the high-water mark is damaged")
	})
}

// Looking makes no mark; the first events do, with an event of its own where there are
// events already.
func TestADatabaseOfTodayIsAdoptedOnce(t *testing.T) {
	m := openMarked(t)
	m.Close()
	plain := open(t, m.path, sqlite.Options{})
	if _, err := plain.Commit(t.Context(), batch("e1")); err != nil {
		t.Fatal(err)
	}
	plain.Close()
	m = m.again()
	if err := m.CheckMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.guard.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("looking made a mark: %v", err)
	}
	m.must(batch("e2"))
	m.must(batch("e3"))
	m.Close()
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
func TestADatabaseWithoutAPlaceForItsMark(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "belay.db"),
		sqlite.Options{Mark: highwater.New(highwater.Options{Dir: filepath.Join(file, "marks"), Name: "m"})})
	if _, err := s.Commit(t.Context(), batch("e1")); err != nil {
		t.Fatal(err)
	}
	if err := s.MarkTrouble(); !errors.Is(err, highwater.ErrNoPlace) {
		t.Errorf("the trouble is %v", err)
	}
}

// Once there was a mark, one that cannot be read blocks.
func TestAMarkThatCannotBeReadBlocks(t *testing.T) {
	m := openMarked(t)
	m.must(batch("e1"))
	m.Close()
	if err := os.Chmod(m.guard.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	m.again().wantRollback("chmod 600")
}

// Two processes share a database: none takes the other for a rollback, and the mark
// never goes back.
func TestTwoProcessesShareAMark(t *testing.T) {
	a := openMarked(t)
	a.must(mint("l", 100))
	b := a.again()
	for i := range 20 {
		id := strings.Repeat("x", i+1)
		a.must(claim("l", "a"+id))
		b.must(claim("l", "b"+id))
		b.must(batch("c" + id))
	}
	size, err := a.LogSize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st, _, err := a.guard.Look()
	if err != nil || st.Head.Size != size || st.Uses[highwater.Lease+"l"].Count != 40 {
		t.Errorf("the mark says %+v, the log has %d events: %v", st, size, err)
	}
	if l, err := a.Lease(t.Context(), "l"); err != nil || l.Uses != 40 {
		t.Errorf("%+v, %v", l, err)
	}
}

// A writer of rows can make a used approval look unused, and give a lease its
// uses back.
func TestUsesCountThatTheDatabaseDoesNotHold(t *testing.T) {
	m := openMarked(t)
	m.must(approved("a"))
	m.must(mint("l", 2))
	old := filepath.Join(t.TempDir(), "old.db")
	m.backup(old)
	m.must(use("a"))
	m.must(claim("l", "c1"))
	c, err := sqlite3.Open(m.path)
	if err == nil {
		err = c.Exec(`ATTACH '` + old +
			`' AS o; UPDATE approvals SET state='approved', body=(SELECT body FROM o.approvals); DELETE FROM events WHERE id='use-a'; UPDATE leases SET uses=0`)
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	// The rows are not those that the log records: nothing is used or counted on them.
	for what, b := range map[string]kernel.Batch{"the second use": use("a"), "a claim": claim("l", "c2")} {
		if err := m.commit(b); !errors.Is(err, kernel.ErrTampered) {
			t.Errorf("%s answers %v", what, err)
		}
	}
	if _, err := m.Lease(t.Context(), "l"); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("the lease: %v", err)
	}
	if _, err := m.Approval(t.Context(), "a"); !errors.Is(err, kernel.ErrTampered) {
		t.Errorf("the approval: %v", err)
	}
}

// A process that ends between noting a use and committing it has used it.
func TestANotedUseWithoutACommitCountsAsUsed(t *testing.T) {
	m := openMarked(t)
	m.must(approved("a"))
	m.must(mint("l", 3))
	st, _, err := m.guard.Look()
	if err != nil {
		t.Fatal(err)
	}
	until := storetest.T0.Add(time.Hour).Unix()
	uses := []highwater.Use{{ID: highwater.Approval + "a", Event: "use-a", Until: until},
		{ID: highwater.Lease + "l", Count: 1, Until: until}, {ID: highwater.Approval + "gone", Until: until}}
	if err := m.newGuard().Intend(st.Epoch, st.Head, uses, storetest.T0); err != nil {
		t.Fatal(err)
	}
	if err := m.CheckMark(t.Context()); err != nil { // also of a store that was open all the time
		t.Fatal(err)
	}
	if err := m.commit(use("a")); !errors.Is(err, kernel.ErrConflict) && !errors.Is(err, kernel.ErrRollback) {
		t.Errorf("the use answers %v", err)
	}
	if it, err := m.Approval(t.Context(), "a"); err != nil || it.State != approvals.Consumed {
		t.Errorf("%+v, %v", it, err)
	}
	if l, err := m.Lease(t.Context(), "l"); err != nil || l.Uses != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	es, err := m.Events(t.Context(), wire.Query{ID: "use-a"})
	if err != nil || len(es) != 1 || es[0].Reason == "" {
		t.Errorf("%+v, %v", es, err)
	}
	size, _ := m.LogSize(t.Context())
	m.Close()
	m = m.again()
	if err := m.CheckMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, _ := m.LogSize(t.Context()); again != size {
		t.Errorf("it was written down again: %d events, then %d", size, again)
	}
}

// failingMark fails when something is about to be used.
type failingMark struct {
	marked.Mark
	err error
}

func (f failingMark) Intend(int64, highwater.Head, []highwater.Use, time.Time) error { return f.err }

func TestAUseThatCannotBeNotedDoesNotHappen(t *testing.T) {
	m := openMarked(t)
	m.must(approved("a"))
	m.Close()
	s := open(t, m.path, sqlite.Options{Mark: failingMark{m.newGuard(), errors.New("no space left on device")}})
	if _, err := s.Commit(t.Context(), use("a")); !errors.Is(err, kernel.ErrUnavailable) ||
		errors.Is(err, kernel.ErrRollback) {
		t.Errorf("the use answers %v", err)
	}
	if it, err := s.Approval(t.Context(), "a"); err != nil || it.State != approvals.Approved {
		t.Errorf("%+v, %v", it, err)
	}
}
