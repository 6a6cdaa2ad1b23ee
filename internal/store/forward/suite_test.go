package forward_test

import (
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

func TestStore(t *testing.T) {
	pgtest.DSN(t)
	storetest.Run(t, func(t *testing.T) kernel.Store {
		o := pgtest.Options(t, "suite")
		o.Mark = highwater.New(highwater.Options{Dir: filepath.Join(t.TempDir(), "marks"), Name: "there"})
		return open(t, filepath.Join(t.TempDir(), "belay.db"), o, forward.Options{})
	})
}

// open opens a store. The test closes it.
func open(t *testing.T, path string, o postgres.Options, f forward.Options) *forward.Store {
	t.Helper()
	local, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := forward.Open(t.Context(), local, o, f)
	if err != nil {
		_ = local.Close()
		t.Fatal(err)
	}
	return s
}
