package sink

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// crashDisk is a file system with a page cache: unsynced bytes and names may be
// lost, all or in part, when the power fails. It fails or crashes at the step
// that a test asks for.
type crashDisk struct {
	names, safe map[string]*inode         // safe: names that outlive the power
	later       []func(map[string]*inode) // changes of names that may be lost, in order, as journals keep them
	step        int                       // steps so far
	crashAt     int                       // the step that is begun and not finished; 0: none
	failAt      int                       // the step that fails; 0: none
	pick        func(n int) int           // a number below n
}

type inode struct {
	cache, safe []byte
	lost        []span // of cache: a sync failed, and the kernel thinks that it is clean
}

type span struct{ from, to int }

// crashed is what a crashing disk panics with.
type crashed struct{}

var errDisk = errors.New("input/output error")

func newCrashDisk(pick func(int) int) *crashDisk {
	return &crashDisk{names: map[string]*inode{}, safe: map[string]*inode{}, pick: pick}
}

// next is called before each step; partly says what a crash or a failure leaves of it.
func (d *crashDisk) next(partly func()) error {
	d.step++
	switch d.step {
	case d.crashAt:
		partly()
		panic(crashed{})
	case d.failAt:
		partly()
		return errDisk
	}
	return nil
}

// cut ends the process. With power, the disk loses unsynced bytes as it likes.
func (d *crashDisk) cut(power bool) {
	d.crashAt, d.failAt = 0, 0
	if !power {
		return
	}
	for _, change := range d.later[:d.pick(len(d.later)+1)] {
		change(d.safe)
	}
	d.later = nil
	d.names = maps.Clone(d.safe)
	done := map[*inode]bool{}
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if n := d.names[name]; !done[n] {
			done[n] = true
			n.cut(d.pick)
		}
	}
}

// cut leaves the synced bytes, and of the rest those that got to the disk by
// chance: some blocks, with zeros between them.
func (n *inode) cut(pick func(int) int) {
	now := slices.Clone(n.safe)
	if len(n.cache) > len(now) {
		now = append(now, make([]byte, pick(len(n.cache)-len(now)+1))...)
	}
	block := max(512, (len(now)-len(n.safe))/6)
	for at := len(n.safe) / block * block; at < len(now); at += block {
		end := min(at+block, len(now), len(n.cache))
		if at < end && end > len(n.safe) && pick(2) == 0 {
			from := max(at, len(n.safe))
			copy(now[from:end], n.cache[from:end])
		}
	}
	n.cache, n.safe, n.lost = now, slices.Clone(now), nil
}

// dirty says that the range is written anew: the next sync takes it along.
func (n *inode) dirty(from, to int) {
	var left []span
	for _, s := range n.lost {
		for _, part := range []span{{s.from, min(s.to, from)}, {max(s.from, to), s.to}} {
			if part.from < part.to {
				left = append(left, part)
			}
		}
	}
	n.lost = left
}

func (d *crashDisk) open(path string) (handle, error) {
	if n, ok := d.names[path]; ok {
		return &crashFile{d: d, n: n}, nil
	}
	if err := d.next(func() {}); err != nil {
		return nil, err
	}
	n := &inode{}
	d.change(func(names map[string]*inode) { names[path] = n })
	return &crashFile{d: d, n: n}, nil
}

func (d *crashDisk) rename(from, to string) error {
	if err := d.next(func() {}); err != nil {
		return err
	}
	d.change(func(names map[string]*inode) {
		names[to] = names[from]
		delete(names, from)
	})
	return nil
}

func (d *crashDisk) remove(path string) error {
	if err := d.next(func() {}); err != nil {
		return err
	}
	if d.names[path] == nil {
		return fs.ErrNotExist
	}
	d.change(func(names map[string]*inode) { delete(names, path) })
	return nil
}

// change changes names now, and for good some time.
func (d *crashDisk) change(change func(map[string]*inode)) {
	change(d.names)
	d.later = append(d.later, change)
}

func (d *crashDisk) after(prefix string) ([]string, error) {
	var out []string
	for name := range d.names {
		if strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (d *crashDisk) sync(string) error {
	if err := d.next(func() {}); err != nil {
		return err
	}
	d.safe, d.later = maps.Clone(d.names), nil
	return nil
}

type crashFile struct {
	d *crashDisk
	n *inode
}

func (f *crashFile) ReadAt(b []byte, off int64) (int, error) {
	n := copy(b, f.n.cache[min(int(off), len(f.n.cache)):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *crashFile) WriteAt(b []byte, off int64) (int, error) {
	write := func(b []byte) {
		if grow := int(off) + len(b) - len(f.n.cache); grow > 0 {
			f.n.cache = append(f.n.cache, make([]byte, grow)...)
		}
		copy(f.n.cache[off:], b)
		f.n.dirty(int(off), int(off)+len(b))
	}
	part := 0
	if err := f.d.next(func() { part = f.d.pick(len(b) + 1); write(b[:part]) }); err != nil {
		return part, err
	}
	write(b)
	return len(b), nil
}

func (f *crashFile) Truncate(size int64) error {
	if err := f.d.next(func() {}); err != nil {
		return err
	}
	f.n.dirty(int(size), len(f.n.cache))
	f.n.cache = slices.Clone(f.n.cache[:size])
	f.n.safe = slices.Clone(f.n.safe[:min(int(size), len(f.n.safe))])
	return nil
}

func (f *crashFile) Sync() error {
	n := f.n
	if err := f.d.next(func() {}); err != nil {
		n.lost = append(n.lost, span{len(n.safe), len(n.cache)})
		return err
	}
	n.safe = slices.Clone(n.cache)
	for _, s := range n.lost { // it is not tried again
		for i := s.from; i < min(s.to, len(n.safe)); i++ {
			n.safe[i] = 0
		}
	}
	return nil
}

func (f *crashFile) Close() error         { return nil }
func (f *crashFile) size() (int64, error) { return int64(len(f.n.cache)), nil }
func (f *crashFile) lock() error          { return nil }
func (f *crashFile) unlock() error        { return nil }

func (f *crashFile) current(path string) bool { return f.d.names[path] == f.n }
