package statelog_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
)

// shared makes a belay.yaml in dir that names a new schema of the tests' PostgreSQL.
func shared(t *testing.T, dir, kernel string) *config.File {
	t.Helper()
	o := pgtest.Login(t, pgtest.Options(t, kernel), "kernel")
	dsn := filepath.Join(dir, "dsn")
	write(t, dsn, o.DSN)
	return sharing(t, dir, dsn, o.Schema, kernel)
}

func sharing(t *testing.T, dir, dsn, schema, kernel string) *config.File {
	t.Helper()
	write(t, filepath.Join(dir, config.FileName), "version: belay/v1\nstore: {postgres: {dsn_file: "+dsn+
		", kernel: "+kernel+", schema: "+schema+", tls: off}}\n")
	f, _, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Events go to PostgreSQL and to no belay.db, and are read there by those who write nothing.
func TestStorageInPostgreSQL(t *testing.T) {
	dir := t.TempDir()
	f := shared(t, dir, "one")
	key := stateKey(t, dir)
	empty := openReadOnly(t, dir)
	if r, err := empty.Verify(t.Context(), statelog.Evidence{}); err != nil || r.Wrong != nil || r.Events != 0 {
		t.Errorf("before the first start: %+v, %v", r, err)
	}
	s := storage(t, dir, f, statelog.StorageOptions{})
	if err := commit(t, s.Front, "first"); err != nil {
		t.Fatal(err)
	}
	st := s.State(t.Context())
	if len(st) != 1 || !st[0].OK || st[0].Seq != 1 || !strings.HasPrefix(st[0].Path, "PostgreSQL, schema t") {
		t.Errorf("%+v", st)
	}
	if _, err := os.Stat(filepath.Join(dir, "belay.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a belay.db was made: %v", err)
	}
	log := openReadOnly(t, dir)
	es, err := log.Events(t.Context(), wire.Query{})
	if err != nil || len(es) != 1 || es[0].ID != "first" {
		t.Errorf("%v, %v", es, err)
	}
	if r, err := log.Verify(t.Context(), statelog.Evidence{}); err != nil || r.Wrong != nil || r.Events != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	dry, err := statelog.OpenStorage(t.Context(), dir, key, f,
		statelog.StorageOptions{DryRun: true, InMemory: true, Logger: discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(t, dry.Front, "second"); err != nil {
		t.Errorf("a dry run: %v", err)
	}
	if size, err := dry.Store.LogSize(t.Context()); err != nil || size != 1 {
		t.Errorf("a dry run has written: %d, %v", size, err)
	}
	if err := errors.Join(dry.Finish(), dry.Close()); err != nil {
		t.Error(err)
	}
}

// An old belay.db is not read while belay.yaml names PostgreSQL, also where that cannot be reached.
func TestNoOldDatabaseInPlaceOfPostgreSQL(t *testing.T) {
	dir := t.TempDir()
	key := stateKey(t, dir)
	database(t, dir, 3)
	f := sharing(t, dir, filepath.Join(dir, "none"), "belay", "one")
	for name, o := range map[string]statelog.StorageOptions{"open": {}, "a dry run": {DryRun: true, InMemory: true}} {
		o.Logger = discard
		if s, err := statelog.OpenStorage(t.Context(), dir, key, f, o); s != nil || !errors.Is(err, kernel.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := statelog.OpenReadOnly(t.Context(), dir); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	// A file that cannot be used may name it, too.
	write(t, filepath.Join(dir, config.FileName), "version: belay/v1\nstore: {postgres: {}}\n")
	none, _, bad := config.Load(dir)
	for name, o := range map[string]statelog.StorageOptions{"open": {}, "a dry run": {DryRun: true, InMemory: true}} {
		o.Logger, o.Unusable = discard, bad
		if s, err := statelog.OpenStorage(t.Context(), dir, key, none, o); s != nil || !errors.Is(err, config.ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := statelog.OpenReadOnly(t.Context(), dir); !errors.Is(err, config.ErrUnusable) {
		t.Errorf("read: %v", err)
	}
}

// The store cannot change while belay runs.
func TestAnotherStoreTakesANewStart(t *testing.T) {
	dir := t.TempDir()
	s := storage(t, dir, &config.File{Version: config.Version}, statelog.StorageOptions{})
	named := sharing(t, dir, "/etc/belay/dsn", "belay", "one")
	_, err := s.Prepare(named, nil)
	if !errors.Is(err, config.ErrUnusable) || !strings.Contains(err.Error(), "belay.yaml:2: /store: ") {
		t.Errorf("%v", err)
	}
	if _, err := s.Prepare(&config.File{Version: config.Version}, nil); err != nil {
		t.Errorf("the same store: %v", err)
	}
}

// A store that kernels share is the same only with the same place, name and bounds.
func TestAnotherDatabaseTakesANewStart(t *testing.T) {
	dir := t.TempDir()
	was := sharing(t, dir, "/etc/belay/dsn", "belay", "one")
	for name, now := range map[string]*config.File{
		"a DSN":    sharing(t, dir, "/etc/belay/other", "belay", "one"),
		"a schema": sharing(t, dir, "/etc/belay/dsn", "other", "one"),
		"a kernel": sharing(t, dir, "/etc/belay/dsn", "belay", "two"),
		"no store": {Version: config.Version},
	} {
		if err := statelog.SameStore(was, now); !errors.Is(err, config.ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := statelog.SameStore(was, sharing(t, dir, "/etc/belay/dsn", "belay", "one")); err != nil {
		t.Errorf("the same: %v", err)
	}
}

// What the configuration lets through, the store takes; the defaults are the store's own.
func TestConfiguredBoundsAreThoseOfTheStore(t *testing.T) {
	for _, more := range []string{"", ", readers: 64", ", connect_timeout: 100ms", ", connect_timeout: 1m", ", hold: 3s",
		", statement_timeout: 10m", ", lock_timeout: 10ms", ", hold: 10m", ", tls: verify-ca, root_cert: /r", ", schema: _"} {
		f, err := config.Parse([]byte("version: belay/v1\nstore: {postgres: {dsn_file: /d, kernel: " +
			strings.Repeat("k", 52) + more + "}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		o := statelog.PostgresOptions(f.Store.WithUID(1<<32-2).Postgres, "v1")
		if err := o.Check(); err != nil || o.Kernel != strings.Repeat("k", 52)+"-4294967294" {
			t.Errorf("%s: %v", more, err)
		}
	}
}
