package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// faultyDisk is the real file system until it is told to fail. It remembers
// which files were synced since it was last asked.
type faultyDisk struct {
	vfs.VFS
	failSync, failWrite atomic.Bool
	dbSyncs             atomic.Int64
}

func (d *faultyDisk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := d.VFS.Open(name, flags)
	return d.wrap(f, name), out, err
}

func (d *faultyDisk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := d.VFS.(vfs.VFSFilename).OpenFilename(name, flags)
	return d.wrap(f, name.String()), out, err
}

func (d *faultyDisk) wrap(f vfs.File, name string) vfs.File {
	if f == nil {
		return nil
	}
	return &faultyFile{File: f, disk: d, name: name}
}

type faultyFile struct {
	vfs.File
	disk *faultyDisk
	name string
}

func (f *faultyFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f *faultyFile) Sync(flags vfs.SyncFlag) error {
	if f.disk.failSync.Load() {
		return sqlite3.IOERR_FSYNC
	}
	if strings.HasSuffix(f.name, ".db") {
		f.disk.dbSyncs.Add(1)
	}
	return f.File.Sync(flags)
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	if f.disk.failWrite.Load() {
		return 0, sqlite3.FULL
	}
	return f.File.WriteAt(b, off)
}

func TestDiskFaults(t *testing.T) {
	for name, fault := range map[string]func(*faultyDisk) *atomic.Bool{
		"sync":  func(d *faultyDisk) *atomic.Bool { return &d.failSync },
		"write": func(d *faultyDisk) *atomic.Bool { return &d.failWrite },
	} {
		t.Run(name, func(t *testing.T) {
			disk := &faultyDisk{VFS: vfs.Find("")}
			vfs.Register("faulty-"+name, disk)
			t.Cleanup(func() { vfs.Unregister("faulty-" + name) })
			path := filepath.Join(t.TempDir(), "belay.db")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, path, sqlite.Options{VFS: "faulty-" + name})
			if _, err := s.Commit(t.Context(), batch("before")); err != nil {
				t.Fatal(err)
			}
			allIDs(t, s) // a reader stays open, so that the log stays, too
			fault(disk).Store(true)
			for range 3 {
				if _, err := s.Commit(t.Context(), batch("lost")); !errors.Is(err, kernel.ErrUnavailable) {
					t.Fatalf("Commit on a failing disk: %v, want ErrUnavailable", err)
				}
			}
			fault(disk).Store(false)
			syncs := disk.dbSyncs.Load()
			if _, err := s.Commit(t.Context(), batch("after")); err != nil {
				t.Fatalf("Commit on a mended disk: %v", err)
			}
			if disk.dbSyncs.Load() == syncs {
				t.Error("the log was not moved into the database with a sync of its own before anything was acknowledged")
			}
			if ids := allIDs(t, s); !ids["before"] || !ids["after"] {
				t.Errorf("events %v", ids)
			}
			storetest.CheckLog(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if ids := allIDs(t, open(t, path, sqlite.Options{})); !ids["before"] || !ids["after"] {
				t.Errorf("events on the real disk: %v", ids)
			}
		})
	}
}

// After a failure the database is opened anew. What was changed outside of belay before that, the new connection
// does not tell, and the rows that this process remembers are not believed.
func TestRowsChangedBeforeTheDatabaseIsOpenedAnew(t *testing.T) {
	disk := &faultyDisk{VFS: vfs.Find("")}
	vfs.Register("faulty-rows", disk)
	t.Cleanup(func() { vfs.Unregister("faulty-rows") })
	path := filepath.Join(t.TempDir(), "belay.db")
	must(t, os.WriteFile(path, nil, 0o600))
	s := open(t, path, sqlite.Options{VFS: "faulty-rows"})
	restricted(t, s)
	disk.failSync.Store(true)
	if _, err := s.Commit(t.Context(), batch("lost")); !errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("Commit on a failing disk: %v, want ErrUnavailable", err)
	}
	disk.failSync.Store(false)
	change(t, path, "DELETE FROM latches WHERE session='s-1'")
	_, err := s.Commit(t.Context(), batch("never"))
	wantTampered(t, err, "latches")
}
