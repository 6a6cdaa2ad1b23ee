package highwater

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options say where the mark of one state directory is.
type Options struct {
	Dir    string // of marks, absolute; "" when nothing names one. What stands in keys/ counts before it
	Name   string // of the mark in it
	Record string // path of the file in keys/; "" writes none
	Disk   Disk   // nil: the file system
}

// Guard reads and writes the mark of one state directory. It is safe for concurrent
// use, and several processes may use the same mark: it never goes back but by Reset.
type Guard struct {
	o Options

	mu    sync.Mutex
	path  string         // of file
	file  File           // nil: not open
	state *State         // as in file; its map is replaced, never changed
	slot  []byte         // of file, as state has it; nil: not known
	size  int64          // of file, when state was read
	limit int64          // size from which on a rewrite is worth it
	bytes [slotSize]byte // read last
	doubt bool           // a write failed: what has reached the disk is not known
	looks int64          // how often the file has brought something that this Guard did not write
}

// New returns a guard. Nothing is read or written.
func New(o Options) *Guard {
	if o.Disk == nil {
		o.Disk = osDisk{}
	}
	return &Guard{o: o}
}

// rewriteAt is the size from which on a mark is written anew without expired
// records.
const rewriteAt = 1 << 20

// Look returns what the mark says, and a number that changes when it says something that
// this Guard did not write. State is nil when there is no mark, and never was one as far
// as keys/ says. Errors are ErrMissing, ErrDamaged, or those of the disk.
func (g *Guard) Look() (*State, int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	adopted, err := g.open()
	if err != nil {
		return nil, g.looks, err
	}
	if g.file == nil {
		if adopted != nil {
			return nil, g.looks,
				&Error{Class: ErrMissing, Path: g.path,
					Reason: "keys/" + filepath.Base(g.o.Record) +
						" says that there is one; it was removed, or the state directory was moved or copied"}
		}
		return nil, g.looks, nil
	}
	defer func() { _ = g.file.Unlock() }() // the lock ends with the file at the latest
	if err := g.refresh(); err != nil {
		return nil, g.looks, err
	}
	if adopted != nil && adopted.Store != g.state.Store {
		return nil, g.looks,
			&Error{
				Class:  ErrDamaged,
				Path:   g.path,
				Reason: "it is not the mark that keys/" + filepath.Base(g.o.Record) + " names",
			}
	}
	out := *g.state
	return &out, g.looks, nil
}

// Path returns where the mark is, or would be; "" when nothing names a directory.
func (g *Guard) Path() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if path, _, err := g.place(); err == nil {
		return path
	}
	return g.path
}

// place returns where the mark is, and what stands in keys/.
func (g *Guard) place() (string, *Adoption, error) {
	dir := g.o.Dir
	var a *Adoption
	if g.o.Record != "" {
		var err error
		if a, err = ReadAdoption(g.o.Record); err != nil {
			return "", nil, err
		}
		if a != nil {
			dir = a.Dir
		}
	}
	if dir == "" {
		return "", a, nil
	}
	return filepath.Join(dir, g.o.Name), a, nil
}

// open makes g.file the locked mark, or nil when there is none.
func (g *Guard) open() (a *Adoption, err error) {
	for range 100 {
		if g.file == nil {
			if g.path, a, err = g.place(); err != nil || g.path == "" {
				return a, err
			}
			f, err := g.o.Disk.Open(g.path)
			if errors.Is(err, fs.ErrNotExist) {
				return a, nil
			}
			if err != nil && a == nil && !errors.Is(err, ErrDamaged) {
				return a, fmt.Errorf("%w: %w", ErrNoPlace, err)
			}
			if err != nil {
				return a, err
			}
			g.file, g.state = f, nil
		}
		if err := g.file.Lock(); err != nil {
			return a, err
		}
		current, err := g.file.Current()
		if err != nil {
			return a, errors.Join(err, g.file.Unlock())
		}
		if current {
			return a, nil
		}
		g.drop()
	}
	return a, &Error{Class: ErrDamaged, Path: g.path, Reason: "it is replaced all the time"}
}

// unlock unlocks the file, unless it was dropped. The lock ends with the file at the latest.
func (g *Guard) unlock() {
	if g.file != nil {
		_ = g.file.Unlock()
	}
}

// drop closes the file, which unlocks it.
func (g *Guard) drop() {
	if g.file != nil {
		_ = g.file.Unlock()
		_ = g.file.Close()
	}
	g.file, g.state, g.slot = nil, nil, nil
}

// refresh reads what others have written. Preconditions: the file is open and locked.
func (g *Guard) refresh() error {
	size, err := g.file.Size()
	if err != nil {
		return err
	}
	if g.state != nil && size == g.size {
		b := g.bytes[:slotBytes(g.state.wide)]
		if _, err := g.file.ReadAt(b, int64(len(header))); err != nil || bytes.Equal(b, g.slot) {
			return err
		}
		if h, ok := readSlot(g.state.Store, g.state.Epoch, b, g.state.wide); ok {
			g.state.Head = g.state.Head.join(h)
		}
		g.slot = append(g.slot[:0], b...)
		return nil
	}
	g.slot = nil
	if size > MaxBytes {
		return &Error{Class: ErrDamaged, Path: g.path, Reason: fmt.Sprintf("%d bytes: at most %d", size, MaxBytes)}
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(g.file, 0, size), b); err != nil {
		return err
	}
	s, err := Decode(b)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Path = g.path
		}
		return err
	}
	g.state, g.size, g.looks = s, size, g.looks+1
	g.limit = max(g.limit, rewriteAt)
	return nil
}

// mine returns the mark for a change that rests on an epoch. Preconditions: g.mu is held.
// With a nil error the file is locked.
func (g *Guard) mine(epoch int64) error {
	if _, err := g.open(); err != nil {
		return err
	}
	if g.file == nil {
		return &Error{Class: ErrMissing, Path: g.path, Reason: "it is gone"}
	}
	err := g.refresh()
	if err == nil && g.state.Epoch != epoch {
		err = &Error{Class: ErrBehind, Path: g.path, Reason: "the database was recovered meanwhile"}
	}
	if err != nil {
		_ = g.file.Unlock()
	}
	return err
}

// Adopt makes the mark of a database that has none, and then what says so in keys/.
func (g *Guard) Adopt(store string, h Head) error {
	return g.Reset(&State{Store: store, Head: h})
}

// Reset makes the mark say s, whatever it says now: a person has decided that.
func (g *Guard) Reset(s *State) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !validStore(s.Store) {
		return &Error{Class: ErrDamaged, Reason: "a store's id has 32 hex digits"}
	}
	if _, err := g.open(); err != nil && !errors.Is(err, ErrDamaged) {
		return err
	}
	defer g.drop()
	if g.path == "" {
		return ErrNoPlace
	}
	if err := g.rewrite(s); err != nil {
		return err
	}
	if g.o.Record == "" {
		return nil
	}
	return g.writeRecord(s.Store)
}

func (g *Guard) writeRecord(store string) error {
	b, err := (&Adoption{Version: 1, Store: store, Dir: filepath.Dir(g.path)}).encode()
	if err != nil {
		return err
	}
	return osDisk{}.Replace(g.o.Record, b)
}

// Heal writes what stands in keys/ anew when it is gone. Preconditions: the mark and the
// database agree.
func (g *Guard) Heal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.o.Record == "" || g.state == nil {
		return nil
	}
	a, err := ReadAdoption(g.o.Record)
	if err != nil || a != nil {
		return err
	}
	return g.writeRecord(g.state.Store)
}

func (g *Guard) rewrite(s *State) error {
	b, err := encode(s)
	if err != nil {
		return err
	}
	return g.o.Disk.Replace(g.path, b)
}

// Intend notes durably what a commit on top of the head h is about to use up, and the
// head. It returns before that commit may begin to be durable. Errors are ErrBehind when
// another process has been further, ErrMissing, ErrDamaged, or those of the disk; then
// the commit must not be made.
func (g *Guard) Intend(epoch int64, h Head, uses []Use, now time.Time) error {
	for i := range uses {
		if err := uses[i].valid(); err != nil {
			return &Error{Class: ErrDamaged, Reason: err.Error()}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.mine(epoch); err != nil {
		return err
	}
	defer g.unlock()
	if h.Size < g.state.Head.Size {
		return &Error{Class: ErrBehind, Path: g.path, Reason: "another process has been further"}
	}
	next := *g.state
	next.Head, next.Uses = h.join(g.state.Head), maps.Clone(g.state.Uses)
	for _, u := range uses {
		next.use(u)
	}
	if g.doubt || g.state.torn || g.size >= g.limit || len(uses) > usesPerRecord || next.narrows() {
		for id, u := range next.Uses {
			if u.Over(now) {
				delete(next.Uses, id)
			}
		}
		if err := g.rewrite(&next); err != nil {
			return err
		}
		g.drop()
		g.doubt, g.limit = false, rewriteAt+256*int64(len(next.Uses)) // not again with the next one
		return nil
	}
	r := next.Head.record(next.Epoch)
	r.Uses = uses
	b, err := line(next.Store, &r)
	if err == nil {
		_, err = g.file.WriteAt(b, g.state.end)
	}
	if err == nil {
		err = g.file.Sync()
	}
	if err != nil {
		g.doubt = true // the file is read, and written, anew
		g.drop()
		return err
	}
	next.end += int64(len(b))
	g.state, g.size = &next, next.end
	return nil
}

// Advance says that the database has come as far as h. It is not synced: after
// a power cut the mark holds the head of its last record. A head that is not
// further than the mark, and one from before a recovery, changes nothing.
func (g *Guard) Advance(epoch int64, h Head) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.mine(epoch); err != nil {
		if errors.Is(err, ErrBehind) {
			return nil
		}
		return err
	}
	defer g.unlock()
	h = g.state.Head.join(h)
	if h == g.state.Head {
		return nil
	}
	next := *g.state
	if next.Head = h; next.narrows() {
		err := g.rewrite(&next)
		g.drop()
		return err
	}
	b := slot(g.state.Store, g.state.Epoch, h, g.state.wide)
	if _, err := g.file.WriteAt(b, int64(len(header))); err != nil {
		g.slot = nil
		return err
	}
	g.state.Head, g.slot = h, b
	return nil
}

// narrows reports whether the file has no place for what the state says.
func (s *State) narrows() bool { return s.Head.Seen.Version > 0 && !s.wide }

// Move takes the mark to another directory, if keys/ names a different one and there is
// none yet. The one that is left says nothing any more.
func (g *Guard) Move(dir string) (moved bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.open()
	if err != nil || a == nil || a.Dir == dir {
		if g.file != nil {
			_ = g.file.Unlock()
		}
		return false, err
	}
	if g.file == nil {
		return false, nil // it is missing, which Look says
	}
	defer g.drop()
	if err := g.refresh(); err != nil {
		return false, err
	}
	old := g.path
	g.path = filepath.Join(dir, g.o.Name)
	if err := g.rewrite(g.state); err != nil {
		g.path = old
		return false, err
	}
	if err := g.writeRecord(g.state.Store); err != nil {
		return false, err
	}
	return true, os.Remove(old) // which sends those who have it open to the new one
}

// Close releases the file.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop()
	return nil
}
