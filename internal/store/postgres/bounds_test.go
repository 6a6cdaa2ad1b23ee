package postgres_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// The server has the bounds of the options for each connection, and keeps them: a statement that takes longer is given
// up, one that waits for another kernel's lock, too, and there are no more connections than readers and one that
// writes.
func TestBoundsOfConnections(t *testing.T) {
	o := pgtest.Options(t, "bounds")
	o.StatementTimeout, o.LockTimeout, o.Readers = 900*time.Millisecond, 300*time.Millisecond, 2
	s := pgtest.Open(t, o)
	for name, want := range map[string][2]string{
		"statement_timeout":                   {"900ms", "900ms"},
		"lock_timeout":                        {"300ms", "300ms"},
		"idle_in_transaction_session_timeout": {"900ms", "900ms"},
		"default_transaction_read_only":       {"off", "on"},
		"synchronous_commit":                  {"on", "on"},
		"application_name":                    {"belay bounds", "belay bounds"},
		"search_path":                         {o.Schema + ", pg_temp", o.Schema + ", pg_temp"},
		"TimeZone":                            {"UTC", "UTC"},
	} {
		writes, reads, err := s.Setting(t.Context(), name)
		if got := [2]string{writes, reads}; err != nil || got != want {
			t.Errorf("%s is %q, want %q; %v", name, got, want, err)
		}
	}
	begun := time.Now()
	if err := s.Sleep(t.Context(), 20*time.Second); !errors.Is(err, kernel.ErrUnavailable) ||
		time.Since(begun) > 10*time.Second {
		t.Errorf("a slow statement: %v after %v", err, time.Since(begun))
	}
	var sleeping sync.WaitGroup
	for range 6 {
		sleeping.Go(func() {
			if err := s.Sleep(t.Context(), 100*time.Millisecond); err != nil {
				t.Error(err)
			}
		})
	}
	const own = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'belay bounds'"
	for range 10 {
		var n int
		if query(t, o, own, &n); n > o.Readers+1 {
			t.Errorf("%d connections of %d readers and one that writes", n, o.Readers)
		}
		time.Sleep(20 * time.Millisecond)
	}
	sleeping.Wait()

	admin := connect(t, o)
	tx, err := admin.BeginTx(t.Context(), pgx.TxOptions{})
	if err == nil {
		_, err = tx.Exec(t.Context(), "SELECT FROM shared FOR UPDATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	b := batch("latch")
	b.Latch = &kernel.Latch{Runtime: "r", Session: "s", Since: storetest.T0}
	begun = time.Now()
	if _, err := s.Commit(t.Context(), b); !errors.Is(err, kernel.ErrUnavailable) || time.Since(begun) > 10*time.Second {
		t.Errorf("behind another kernel's lock: %v after %v", err, time.Since(begun))
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	commit(t, s, b)
}
