package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// A crashDisk is the real file system that also models the contents of a disk after
// a power cut: all synced writes, and of the rest any part, torn or garbled.
type crashDisk struct {
	vfs.VFS
	lies bool // a sync does nothing

	mu    sync.Mutex
	files map[string]*crashFile
	rng   *rand.Rand
	onOp  func() // called with mu held, after each write, truncation and sync
}

type crashFile struct {
	durable []byte
	pending []crashOp
}

type crashOp struct {
	at   int64
	data []byte // nil: truncate to at
}

func (o crashOp) apply(b []byte) []byte {
	end := o.at + int64(len(o.data))
	if o.data == nil {
		if o.at < int64(len(b)) {
			return b[:o.at]
		}
	}
	if n := end - int64(len(b)); n > 0 {
		b = append(b, make([]byte, n)...)
	}
	copy(b[o.at:], o.data)
	return b
}

// image returns the files after a crash now. Preconditions: d.mu is held.
func (d *crashDisk) image() map[string][]byte {
	out := map[string][]byte{}
	for name, f := range d.files {
		b := append([]byte{}, f.durable...)
		for _, o := range f.pending {
			kept := crashOp{o.at, append([]byte(nil), o.data...)}
			switch d.rng.IntN(4) {
			case 0: // dropped
				continue
			case 1: // torn at a sector or anywhere
				if n := len(kept.data); n > 1 {
					kept.data = kept.data[:1+d.rng.IntN(n-1)]
				}
			case 2: // garbled
				if n := len(kept.data); n > 0 {
					for range 1 + d.rng.IntN(8) {
						kept.data[d.rng.IntN(n)] ^= byte(1 + d.rng.IntN(255))
					}
				}
			}
			b = kept.apply(b)
		}
		out[name] = b
	}
	return out
}

func (d *crashDisk) record(name string, f func(*crashFile)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		d.files[name] = &crashFile{}
	}
	f(d.files[name])
	d.onOp()
}

func (d *crashDisk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := d.VFS.(vfs.VFSFilename).OpenFilename(name, flags)
	if f == nil {
		return nil, out, err
	}
	return &crashHandle{File: f, disk: d, name: filepath.Base(name.String())}, out, err
}

func (d *crashDisk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	delete(d.files, filepath.Base(name))
	d.mu.Unlock()
	return d.VFS.Delete(name, syncDir)
}

type crashHandle struct {
	vfs.File
	disk *crashDisk
	name string
}

func (f *crashHandle) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f *crashHandle) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(b, off)
	f.disk.record(f.name, func(c *crashFile) {
		c.pending = append(c.pending, crashOp{off, append([]byte{}, b[:n]...)})
	})
	return n, err
}

func (f *crashHandle) Truncate(size int64) error {
	err := f.File.Truncate(size)
	f.disk.record(f.name, func(c *crashFile) { c.pending = append(c.pending, crashOp{at: size}) })
	return err
}

func (f *crashHandle) Sync(vfs.SyncFlag) error {
	f.disk.record(f.name, func(c *crashFile) {
		if f.disk.lies {
			return
		}
		for _, o := range c.pending {
			c.durable = o.apply(c.durable)
		}
		c.pending = nil
	})
	return nil
}

// crash writes events until points images were checked, and returns their faults.
func crash(t *testing.T, points int, seed uint64, lies bool) (faults []string) {
	dir := t.TempDir()
	path := filepath.Join(dir, "belay.db")
	if err := open(t, path, sqlite.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := &crashDisk{VFS: vfs.Find(""), lies: lies, rng: rand.New(rand.NewPCG(seed, 1)),
		files: map[string]*crashFile{"belay.db": {durable: first}}}
	guard := highwater.New(highwater.Options{Dir: dir, Name: markName, Disk: crashMarks{d}})
	stand := &standing{used: map[string]bool{}}
	var acked, tried sync.Map
	var gone atomic.Int64
	checked := 0
	d.onOp = func() {
		if checked == points || d.rng.IntN(2) == 0 {
			return
		}
		checked++
		if f := checkImage(t, filepath.Join(dir, "after"), d.image(), &acked, &tried, gone.Load(), stand); f != "" {
			faults = append(faults, fmt.Sprintf("crash point %d: %s", checked, f))
		}
	}
	name := "crash-" + strconv.FormatBool(lies)
	vfs.Register(name, d)
	defer vfs.Unregister(name)
	for i := 0; checked < points; {
		// A log this small is moved and begun anew in between, not only at the end.
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{VFS: name, LogPages: 12, Mark: guard})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			tried.Store("mint", true)
			mintForCrashes(t, s)
		}
		for range 8 {
			i++
			b := batch(fmt.Sprintf("e%d", i), fmt.Sprintf("f%d", i))
			b.Events[0].Reason = strings.Repeat("x", i%7*300)
			for _, e := range b.Events {
				tried.Store(e.ID, true)
			}
			r, err := s.Commit(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			for j, e := range b.Events {
				acked.Store(e.ID, r.First+int64(j))
			}
			useUp(t, s, i, stand, &tried)
		}
		compactSome(t, s, i, &acked, &tried, &gone)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return faults
}

// compactSome announces a compaction of all but the last few events and removes some
// of them, so that the power goes in every state of a compaction.
func compactSome(t *testing.T, s *sqlite.Store, i int, acked, tried *sync.Map, gone *atomic.Int64) {
	through := int64(2*i - 10)
	if through < 1 {
		return
	}
	b := batch("compact" + strconv.FormatInt(through, 10))
	b.Compact = through
	tried.Store(b.Events[0].ID, true)
	r, err := s.Commit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	acked.Store(b.Events[0].ID, r.First)
	for range 2 {
		left, err := s.LogRemove(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		gone.Store(through - left)
	}
}

// checkImage opens the image that a crash left and returns its fault, or "".
func checkImage(t *testing.T, dir string, image map[string][]byte, acked, tried *sync.Map, gone int64,
	stand *standing) string {
	err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
	for name, b := range image {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	guard := highwater.New(highwater.Options{Dir: dir, Name: markName})
	defer guard.Close()
	noted, _, noteErr := guard.Look()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "belay.db"), sqlite.Options{Mark: guard})
	if err != nil {
		return "does not open: " + err.Error()
	}
	defer s.Close()
	stored := map[string]bool{}
	es, err := s.Events(t.Context(), wire.Query{Limit: wire.MaxLimit})
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	fault := ""
	for _, e := range es {
		stored[e.ID] = true
		if _, ok := tried.Load(e.ID); !ok {
			fault = "phantom " + e.ID
		}
	}
	// Only events of a durably announced compaction may be missing, and only from the front.
	done, err := s.LogCompacted(t.Context())
	if err != nil {
		return "the compaction cannot be read: " + err.Error()
	}
	removed := done.Through - done.Left
	if removed < gone {
		fault = fmt.Sprintf("%d events were removed, and %d are", gone, removed)
	}
	if removed > 0 && !stored["compact"+strconv.FormatInt(done.Through, 10)] {
		fault = fmt.Sprintf("%d events are removed without an announcement", removed)
	}
	acked.Range(func(id, seq any) bool {
		if !stored[id.(string)] && seq.(int64) > removed {
			fault = "lost " + id.(string)
		}
		return fault == ""
	})
	if size, err := s.LogSize(t.Context()); fault == "" && (err != nil || size != removed+int64(len(es))) {
		fault = fmt.Sprintf("%d leaves, %d events, %v", size, len(es), err)
	}
	if r, err := s.Restrictions(t.Context()); fault == "" &&
		(err != nil || r.Tampered != nil || r.Seq > 0 && r.Recorded != r.Found) {
		fault = fmt.Sprintf("a crash passes for an edit: %+v, %v", r.Tampered, err)
	}
	if fault == "" && len(es)%64 == 0 {
		storetest.CheckLog(t, s)
	}
	if fault == "" && noteErr != nil {
		fault = "the mark cannot be read: " + noteErr.Error()
	}
	if fault == "" {
		fault = stand.check(t, s, noted)
	}
	return fault
}

// No acknowledged event is lost and no unwritten one appears, wherever the
// power is cut. BELAY_CRASH_POINTS sets how many places are tried.
func TestCrashes(t *testing.T) {
	const round = 500 // with a new database each, so that images stay small
	points := 2000
	if n, err := strconv.Atoi(os.Getenv("BELAY_CRASH_POINTS")); err == nil {
		points = n
	}
	for seed := uint64(0); points > 0; seed++ {
		n := min(round, points)
		if faults := crash(t, n, seed, false); len(faults) > 0 {
			t.Fatalf("round %d: %d of %d: %s", seed, len(faults), n, faults[0])
		}
		points -= n
	}
}

// The checker would notice: on a disk whose syncs do nothing events are lost.
func TestCrashesOfALyingDisk(t *testing.T) {
	if faults := crash(t, 60, 0, true); !strings.Contains(strings.Join(faults, "\n"), ": lost ") {
		t.Error("a disk that lies about syncs lost nothing: the test proves nothing")
	}
}
