package sink_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/revision"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/tiers"
)

func events(t *testing.T, sinks string) *config.Events {
	t.Helper()
	f, err := config.Parse([]byte(config.Empty + "events:\n  sinks:\n" + sinks))
	if err != nil {
		t.Fatal(err)
	}
	return &f.Events
}

// Neither events nor checkpoints go into a file that the state directory uses itself.
func TestSettingsRejectStatePaths(t *testing.T) {
	dir := t.TempDir()
	for _, kind := range []string{"jsonl", "checkpoint"} {
		for _, name := range []string{
			"belay.yaml", "trust.yaml", "belay.db", "belay.db-wal", "belay.sock", "frame.sock", "belay.lock", "spool.jsonl",
			"keys/x",
			"cache/x", "blobs/sha256/x", "a/../keys/x",
		} {
			set, err := sink.Settings(dir, events(t, "    - "+kind+": {path: "+dir+"/"+name+"}\n"))
			if err == nil || set != nil || !strings.Contains(err.Error(), "is a file of the state directory") {
				t.Errorf("%s %s: %+v, %v", kind, name, set, err)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	dir, beside := t.TempDir(), t.TempDir()
	set, err := sink.Settings(dir,
		events(t, "    - jsonl: {path: "+beside+"/out, rotate_mib: 2, keep: 3, durable: false}\n    - jsonl: {path: "+dir+
			"/log}\n    - checkpoint: {path: "+beside+"/marks}\n"))
	want := []sink.Setting{
		{Options: sink.Options{Path: filepath.Join(beside, "out"), Rotate: 2 << 20, Keep: 3}},
		{Options: sink.Options{Path: filepath.Join(dir, "log")}, Durable: true},
	}
	if err != nil || len(set) != 2 || set[0] != want[0] || set[1] != want[1] {
		t.Errorf("got %+v, want %+v, %v", set, want, err)
	}
}

// No link leads a sink to a file of the state directory, and neither does
// another name of the directory or of a file.
func TestSettingsResolveLinks(t *testing.T) {
	dir, beside, keys := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"belay.yaml", "belay.db", "revision.json", "blobs/sha256/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		filepath.Join(dir, "keys"):         keys, // the keys themselves stand elsewhere
		filepath.Join(beside, "keys"):      filepath.Join(dir, "keys"),
		filepath.Join(beside, "deep"):      filepath.Join(dir, "blobs", "sha256"),
		filepath.Join(beside, "log"):       filepath.Join(dir, "belay.db"),
		filepath.Join(dir, "log"):          filepath.Join(dir, "belay.yaml"),
		filepath.Join(beside, "state"):     dir,
		filepath.Join(beside, "not-there"): filepath.Join(dir, "spool.jsonl"),
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "belay.db"), filepath.Join(beside, "same")); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"jsonl", "checkpoint"} {
		for _, path := range []string{
			beside + "/keys/events.jsonl", keys + "/x", dir + "/keys/x", beside + "/deep/x", beside + "/log",
			beside + "/not-there", dir + "/log", beside + "/same",
			beside + "/state/belay.db-wal", beside + "/state/cache/x", dir + "/revision.json", dir + "/.belay.yaml.lock", dir,
			beside + "/state",
		} {
			if _, err := sink.Settings(dir, events(t, "    - "+kind+": {path: "+path+"}\n")); err == nil ||
				!strings.Contains(err.Error(), path+" is a file of the state directory") {
				t.Errorf("%s %s: %v", kind, path, err)
			}
		}
		for _, path := range []string{dir + "/events.jsonl", beside + "/state/events.jsonl", beside + "/x", dir + "/keyss"} {
			if _, err := sink.Settings(dir, events(t, "    - "+kind+": {path: "+path+"}\n")); err != nil {
				t.Errorf("%s %s: %v", kind, path, err)
			}
		}
	}
}

// Each name that belay gives a file of the state directory is one that it keeps for itself.
func TestNamesOfTheStateDirectoryAreItsOwn(t *testing.T) {
	for _, name := range []string{
		config.FileName, tiers.PolicyFile, notes.SpoolName, notes.SpoolName + ".taken", notes.ReserveName,
		revision.FileName, notes.ClockName, daemonapi.SocketName, daemonapi.LockName,
		"belay.db", "belay.db-wal", "belay.db-shm", "." + revision.FileName + ".lock",
		filepath.Base(statedir.Keys("/x")), filepath.Base(statedir.Cache("/x")), "blobs",
	} {
		if !statedir.IsOwn(name) {
			t.Errorf("%s is taken for a file of another", name)
		}
	}
	for _, name := range []string{"events.jsonl", "checkpoints", "belay.dbx", "spool.jsonlx", ".lock", "keys2", ""} {
		if statedir.IsOwn(name) {
			t.Errorf("%s is taken for one of its own", name)
		}
	}
}
