package statelog_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

var discard = slog.New(slog.DiscardHandler)

// stateKey makes the key that signs checkpoints in a state directory.
func stateKey(t *testing.T, dir string) *eventlog.Key {
	t.Helper()
	if err := os.MkdirAll(statedir.Keys(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	seed, err := statedir.MakeKey(statedir.Keys(dir), "checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	key, err := eventlog.NewKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func commit(t *testing.T, s kernel.Store, id string) error {
	t.Helper()
	now := time.Now()
	_, err := s.Commit(t.Context(),
		kernel.Batch{Now: now, Events: []phases.Event{{ID: id, Type: phases.EventNotice, Time: now, Reason: id}}})
	return err
}

// database makes belay.db with as many events.
func database(t *testing.T, dir string, events int) {
	t.Helper()
	db, err := statelog.OpenDatabase(t.Context(), dir, statelog.DatabaseOptions{Logger: discard})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := commit(t, db, "event"+string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files returns the files of a directory with their contents, but for those that the
// database engine shares among its readers.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "belay.db-") {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// noKernel fails the test when anything is to be recorded.
type noKernel struct{ t *testing.T }

func (noKernel) Asked(context.Context, string) (bool, error)    { panic("unused") }
func (noKernel) Recorded(context.Context, string) (bool, error) { panic("unused") }
func (noKernel) Now() leases.Instant                            { return leases.At(leases.SystemClock{}) }

func (noKernel) CalmTime() time.Time { return time.Now() }

func (k noKernel) Compact(context.Context, kernel.Compaction, kernel.CompactBy) (kernel.Receipt, error) {
	k.t.Error("something was compacted")
	return kernel.Receipt{}, errors.New("nothing may be compacted")
}

func (noKernel) UnsoundApprovals(context.Context) ([]string, error) { return nil, nil }

func (k noKernel) SoundApproval(context.Context, *approvals.Item) (bool, error) { return true, nil }

// storage opens where events go, by the options, and closes it with the test.
func storage(t *testing.T, dir string, f *config.File, o statelog.StorageOptions) *statelog.Storage {
	t.Helper()
	o.Logger = discard
	s, err := statelog.OpenStorage(t.Context(), dir, stateKey(t, dir), f, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Finish(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// live is the log of a host whose configuration is f.
func live(t *testing.T, dir string, s *statelog.Storage, f *config.File) *statelog.Live {
	t.Helper()
	return statelog.NewLive(statelog.Host{
		Dir: dir, Storage: s, Key: stateKey(t, dir), Kernel: noKernel{t}, Logger: discard,
	}, statelog.Configuration{File: f, Revision: "r"})
}

// failing is a store whose look at itself fails.
type failing struct {
	*memory.Store
	err error
}

func (f failing) Probe(context.Context, time.Time) error { return f.err }
