package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/phases"
)

// badDisk is the real file system until it fails, under the real database.
type badDisk struct {
	vfs.VFS
	writes, syncs, reads atomic.Bool // what fails
}

func (d *badDisk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := d.VFS.Open(name, flags)
	return d.wrap(f), out, err
}

func (d *badDisk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := d.VFS.(vfs.VFSFilename).OpenFilename(name, flags)
	return d.wrap(f), out, err
}

func (d *badDisk) wrap(f vfs.File) vfs.File {
	if f == nil {
		return nil
	}
	return &badFile{f, d}
}

type badFile struct {
	vfs.File
	disk *badDisk
}

func (f *badFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f *badFile) Sync(flags vfs.SyncFlag) error {
	if f.disk.syncs.Load() {
		return sqlite3.IOERR_FSYNC
	}
	return f.File.Sync(flags)
}

func (f *badFile) WriteAt(b []byte, off int64) (int, error) {
	if f.disk.writes.Load() {
		return 0, sqlite3.IOERR_WRITE
	}
	return f.File.WriteAt(b, off)
}

func (f *badFile) ReadAt(b []byte, off int64) (int, error) {
	if f.disk.reads.Load() {
		return 0, sqlite3.IOERR_READ
	}
	return f.File.ReadAt(b, off)
}

// While any operation of the disk fails, every action is refused and health is
// red and says why; when it works again everything goes on, and the gap is
// logged.
func TestDiskFails(t *testing.T) {
	for name, part := range map[string]func(*badDisk) []*atomic.Bool{
		"writes":     func(d *badDisk) []*atomic.Bool { return []*atomic.Bool{&d.writes} },
		"syncs":      func(d *badDisk) []*atomic.Bool { return []*atomic.Bool{&d.syncs} },
		"everything": func(d *badDisk) []*atomic.Bool { return []*atomic.Bool{&d.writes, &d.syncs, &d.reads} },
	} {
		t.Run(name, func(t *testing.T) {
			disk := &badDisk{VFS: vfs.Find("")}
			vfs.Register("bad-"+name, disk)
			t.Cleanup(func() { vfs.Unregister("bad-" + name) })
			path := filepath.Join(t.TempDir(), "belay.db")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			store, err := sqlite.Open(t.Context(), path, sqlite.Options{VFS: "bad-" + name})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			d := startDaemon(t, withConfig(guardConfig), withListener, func(s *setup) { s.belay.Store = store })
			c := dial(t, d.dir)
			if v, err := c.Invoke(t.Context(), invocation("s", "ls")); err != nil || v.Decision != phases.Allow {
				t.Fatalf("%+v, %v", v, err)
			}
			for _, b := range part(disk) {
				b.Store(true)
			}
			const asked = 10
			for range asked {
				v, err := c.Invoke(t.Context(), invocation("s", "ls"))
				if v.Decision != phases.Block || v.Kind != phases.KindStore || v.Event != nil {
					t.Errorf("on a disk that fails: %+v, %v", v, err)
				}
			}
			resp, body := d.do(t, call{tcp: true, method: "GET", path: "/healthz"})
			if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"state":"failing"`) ||
				!strings.Contains(body, `"trouble":"io_error"`) {
				t.Errorf("healthz: %d %s", resp.StatusCode, body)
			}
			documented(t, "GET", "/healthz", resp, body)
			for _, b := range part(disk) {
				b.Store(false)
			}
			if v, err := c.Invoke(t.Context(), invocation("s", "ls")); err != nil || v.Decision != phases.Allow ||
				v.Event == nil {
				t.Errorf("on a disk that works again: %+v, %v", v, err)
			}
			time.Sleep(1100 * time.Millisecond) // what /healthz answers is a second old at most
			if h, err := c.Health(t.Context()); err != nil || !h.OK || h.State != wire.HealthOK {
				t.Errorf("afterwards: %+v, %v", h, err)
			}
			gaps, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventGap})
			blocked := 0
			for _, e := range gaps {
				var gap struct {
					Blocked int `json:"blocked"`
				}
				if err := json.Unmarshal(e.Output, &gap); err != nil {
					t.Fatal(err)
				}
				blocked += gap.Blocked
			}
			if err != nil || len(gaps) == 0 || blocked != asked {
				t.Errorf("%d gap events about %d actions: %v", len(gaps), blocked, err)
			}
			if r, err := statelog.Of(d.host.Log()).Verify(t.Context(), statelog.Evidence{}); err != nil || r.Wrong != nil {
				t.Errorf("verify: %+v, %v", r.Wrong, err)
			}
		})
	}
}
