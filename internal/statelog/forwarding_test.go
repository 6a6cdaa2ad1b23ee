package statelog_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// forwarding makes a belay.yaml in dir with events: local.
func forwarding(t *testing.T, dir, dsn, schema, kernel string) *config.File {
	t.Helper()
	write(t, filepath.Join(dir, config.FileName), "version: belay/v1\nstore: {postgres: {dsn_file: "+dsn+", kernel: "+kernel+
		", schema: "+schema+", tls: \"off\", events: local, keep: 4MiB}}\n")
	f, _, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// With events: local the log is in belay.db and in PostgreSQL, and leases are in PostgreSQL alone, also for those who
// write nothing.
func TestStorageForwards(t *testing.T) {
	dir := t.TempDir()
	o := pgtest.Login(t, pgtest.Options(t, "one"), "kernel")
	dsn := filepath.Join(dir, "dsn")
	write(t, dsn, o.DSN)
	f := forwarding(t, dir, dsn, o.Schema, "one")
	key := stateKey(t, dir)
	if !statelog.HasNone(dir) {
		t.Error("there is a log before the first start")
	}
	s := storage(t, dir, f, statelog.StorageOptions{})
	if err := commit(t, s.Front, "first"); err != nil {
		t.Fatal(err)
	}
	var st []wire.Sink
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if st = s.State(t.Context()); len(st) == 2 && st[1].Seq == 1 {
			break
		}
	}
	if len(st) != 2 || !st[0].OK || !st[1].OK || st[0].Path != filepath.Join(dir, "belay.db") || st[1].Seq != 1 ||
		st[1].Kind != wire.SinkPostgres || !strings.HasPrefix(st[1].Path, "PostgreSQL, schema t") {
		t.Errorf("%+v", st)
	}
	if w := st[1].Forwarding; w == nil || w.State != wire.Forwards || w.Waiting != 0 || w.Keep != 4<<20 ||
		w.Last.IsZero() || !w.Oldest.IsZero() || st[1].Warning != "" {
		t.Errorf("%+v, warning %q", w, st[1].Warning)
	}
	if _, err := os.Stat(filepath.Join(dir, "belay.db")); err != nil || statelog.HasNone(dir) {
		t.Errorf("there is no belay.db: %v", err)
	}
	if statelog.Place(dir) != filepath.Join(dir, "belay.db") {
		t.Errorf("the log is said to be in %s", statelog.Place(dir))
	}
	if own, err := live(t, dir, s, f).Latched(t.Context(), ""); !own || err != nil { // belay.db has them
		t.Errorf("a latch is not of the one kernel that has latches here: %v", err)
	}
	lent := leases.Lease{ID: "l", Holder: leases.Holder{Runtime: "r", Session: "s", Agent: "a"}, NotBefore: time.Now(),
		ExpiresAt: time.Now().Add(time.Hour), MaxTTLS: 3600, MaxUses: 1, State: leases.Active, Created: time.Now(),
		Token: []byte("t")}
	b := kernel.Batch{Now: time.Now(), Events: []phases.Event{{ID: "mint", Type: phases.EventLease, Time: time.Now()}},
		Leases: []leases.Op{{Kind: leases.OpMint, At: leases.Instant{Wall: time.Now()}, Lease: lent}}}
	if _, err := s.Store.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	log := openReadOnly(t, dir)
	if r, err := log.Verify(t.Context(), statelog.Evidence{}); err != nil || r.Wrong != nil || r.Events != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if list, err := log.Leases(t.Context(), leases.Query{}); err != nil || len(list) != 1 {
		t.Errorf("%d leases, %v", len(list), err)
	}
	dry, err := statelog.OpenStorage(t.Context(), dir, key, f,
		statelog.StorageOptions{DryRun: true, InMemory: true, Logger: discard})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := dry.Store.Lease(t.Context(), "l"); err != nil || l == nil || dry.Sharing() == nil {
		t.Errorf("a dry run: %v, %v", l, err)
	}
	if err := errors.Join(dry.Finish(), dry.Close()); err != nil {
		t.Error(err)
	}
}

// PostgreSQL that cannot be reached keeps nothing from starting. Leases are not read from belay.db in its place.
func TestStorageForwardsToWhatIsAway(t *testing.T) {
	dir := t.TempDir()
	stateKey(t, dir)
	s := storage(t, dir, forwarding(t, dir, filepath.Join(dir, "none"), "belay", "one"), statelog.StorageOptions{})
	if err := commit(t, s.Front, "first"); err != nil {
		t.Fatal(err)
	}
	st := s.State(t.Context())
	if len(st) != 2 || !st[0].OK || st[1].OK || st[1].Durable || st[1].Since.IsZero() ||
		!strings.Contains(st[1].Problem, "1 events") {
		t.Errorf("%+v", st)
	}
	if w := st[1].Forwarding; w == nil || w.State != wire.ForwardingAway || w.Waiting != 1 || w.Bytes == 0 ||
		!w.Last.IsZero() || time.Since(w.Oldest) > time.Minute {
		t.Errorf("%+v", w)
	}
	log := openReadOnly(t, dir)
	if es, err := log.Events(t.Context(), wire.Query{}); err != nil || len(es) != 1 {
		t.Errorf("%v, %v", es, err)
	}
	if _, err := log.Leases(t.Context(), leases.Query{}); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("leases: %v, want ErrUnavailable", err)
	}
}
