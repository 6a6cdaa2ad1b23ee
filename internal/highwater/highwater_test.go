package highwater

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const store = "00112233445566778899aabbccddeeff"

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func head(n int64) Head { return Head{Size: n, Root: [32]byte{byte(n), byte(n >> 8)}} }

func newGuard(t *testing.T) *Guard {
	dir := t.TempDir()
	g := New(Options{Dir: filepath.Join(dir, "data", "marks"), Name: "m", Record: filepath.Join(dir, "keys", RecordName)})
	t.Cleanup(func() { g.Close() })
	return g
}

func adopt(t *testing.T, g *Guard) {
	t.Helper()
	if err := g.Adopt(store, head(1)); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, g *Guard) *State {
	t.Helper()
	st, _, err := g.Look()
	if err != nil || st == nil {
		t.Fatalf("Look: %v, %v", st, err)
	}
	return st
}

func TestAMarkIsStored(t *testing.T) {
	g := newGuard(t)
	if st, _, err := g.Look(); st != nil || err != nil {
		t.Fatalf("before there is one: %v, %v", st, err)
	}
	adopt(t, g)
	if err := g.Advance(0, head(5)); err != nil {
		t.Fatal(err)
	}
	if err := g.Intend(0, head(6),
		[]Use{{ID: Approval + "a", Event: "e", Until: 1}, {ID: Lease + "l", Count: 3, Until: 2}}, t0); err != nil {
		t.Fatal(err)
	}
	if err := g.Intend(0, head(7), []Use{{ID: Lease + "l", Count: 2, Until: 9}}, t0); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]*Guard{"same": g, "another": New(g.o)} {
		st := look(t, of)
		if st.Head != head(7) || st.Store != store || len(st.Uses) != 2 ||
			st.Uses[Lease+"l"] != (Use{ID: Lease + "l", Count: 3, Until: 9}) {
			t.Errorf("%s: %+v", name, st)
		}
	}
	fi, err := os.Stat(g.Path())
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if fi, _ := os.Stat(filepath.Dir(g.Path())); fi.Mode().Perm() != 0o700 {
		t.Error(fi.Mode())
	}
}

// A process that lags behind never sets the mark back.
func TestAMarkNeverGoesBack(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	late := New(g.o)
	defer late.Close()
	look(t, late)
	if err := g.Advance(0, head(9)); err != nil {
		t.Fatal(err)
	}
	if err := late.Advance(0, head(4)); err != nil || look(t, g).Head != head(9) {
		t.Errorf("%v, %v", look(t, g).Head, err)
	}
	if err := late.Intend(0, head(4), []Use{{ID: Approval + "a", Until: 1}}, t0); !errors.Is(err, ErrBehind) {
		t.Errorf("an intent of a process that lags: %v", err)
	}
	// After a recovery the head may be smaller, and what comes from before it is void.
	if err := g.Reset(&State{Store: store, Epoch: 1, Head: head(3)}); err != nil {
		t.Fatal(err)
	}
	if err := late.Advance(0, head(20)); err != nil || look(t, g).Head != head(3) {
		t.Errorf("%v, %v", look(t, g).Head, err)
	}
	if err := late.Intend(0, head(20), []Use{{ID: Approval + "a", Until: 1}}, t0); !errors.Is(err, ErrBehind) {
		t.Errorf("an intent from before a recovery: %v", err)
	}
	if err := late.Advance(1, head(4)); err != nil || look(t, g).Head != head(4) {
		t.Errorf("%v, %v", look(t, g).Head, err)
	}
}

// Whatever one write leaves of its bytes is no damage, and older records count.
// A slot counts as it was written, for its own store and epoch, and not with one byte changed.
func TestSlotsHaveChecksums(t *testing.T) {
	const store = "00112233445566778899aabbccddeeff"
	whole := slot(store, 3, head(7), false)
	if h, ok := readSlot(store, 3, whole, false); !ok || h != head(7) {
		t.Fatalf("%+v, %v", h, ok)
	}
	for at := range whole {
		b := bytes.Clone(whole)
		b[at] ^= 1
		if h, ok := readSlot(store, 3, b, false); ok {
			t.Errorf("byte %d changed: %+v counts", at, h)
		}
	}
	if _, ok := readSlot(store, 4, whole, false); ok {
		t.Error("it counts in another epoch")
	}
	if _, ok := readSlot("ff"+store[2:], 3, whole, false); ok {
		t.Error("it counts for another store")
	}
}

func TestATornMark(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	read := func() []byte {
		b, err := os.ReadFile(g.Path())
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := g.Intend(0, head(2), []Use{{ID: Approval + "a", Until: 1}}, t0); err != nil {
		t.Fatal(err)
	}
	before := read()
	if err := g.Intend(0, head(3), []Use{{ID: Approval + "b", Until: 1}, {ID: Approval + "c\nd", Until: 1}},
		t0); err != nil {
		t.Fatal(err)
	}
	whole := read()
	for n := len(before); n < len(whole); n++ {
		for name, b := range map[string][]byte{"cut": whole[:n],
			"zeros": append(bytes.Clone(whole[:n]), make([]byte, len(whole)-n)...),
			"lines": append(bytes.Clone(whole[:n]), bytes.Repeat([]byte("x\n"), 9)...)} {
			st, err := Decode(b)
			if err != nil || st.Head != head(2) || len(st.Uses) != 1 {
				t.Fatalf("%s at %d: %+v, %v", name, n, st, err)
			}
		}
	}
	for n := len(header); n < int(first(false)); n++ { // the head that is overwritten in place
		b := bytes.Clone(whole)
		b[n] ^= 0x11
		if st, err := Decode(b); err != nil || st.Head != head(3) {
			t.Fatalf("slot at %d: %+v, %v", n, st, err)
		}
	}
	for n := int(first(false)); n < len(before); n++ { // records before one that verifies
		b := bytes.Clone(whole)
		b[n] ^= 0x11
		if _, err := Decode(b); !errors.Is(err, ErrDamaged) && whole[n] != '\n' { // then it is one with the last
			t.Fatalf("record at %d: %v", n, err)
		}
	}
	// The next record takes the place of the torn one.
	if err := os.WriteFile(g.Path(), whole[:len(whole)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Intend(0, head(4), []Use{{ID: Approval + "d", Until: t0.Unix()}}, t0); err != nil {
		t.Fatal(err)
	}
	if st := look(t, New(g.o)); st.torn || len(st.Uses) != 1 && len(st.Uses) != 2 || st.Uses[Approval+"d"].ID == "" {
		t.Errorf("%+v", st)
	}
}

func TestDamage(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	good, err := os.ReadFile(g.Path())
	if err != nil {
		t.Fatal(err)
	}
	with := func(text string) []byte {
		return append(bytes.Clone(good), []byte(sum("record", store, []byte(text))+" "+text+"\n")...)
	}
	root := encodeRoot(head(1))
	for name, b := range map[string][]byte{
		"empty":            nil,
		"another file":     []byte("hello"),
		"no record":        good[:first(false)],
		"a torn first":     good[:len(good)-2],
		"too long":         append(bytes.Clone(good), make([]byte, MaxBytes)...),
		"unknown member":   with(`{"epoch":0,"size":1,"root":"` + root + `","x":1}`),
		"duplicate member": with(`{"epoch":0,"epoch":0,"size":1,"root":"` + root + `"}`),
		"another epoch":    with(`{"epoch":1,"size":1,"root":"` + root + `"}`),
		"going back":       with(`{"epoch":0,"size":0,"root":"` + root + `"}`),
		"a second store":   with(`{"store":"` + store + `","epoch":0,"size":1,"root":"` + root + `"}`),
		"no root":          with(`{"epoch":0,"size":1,"root":"AAAA"}`),
		"unknown use":      with(`{"epoch":0,"size":1,"root":"` + root + `","uses":[{"id":"x","until":1}]}`),
		"uncounted lease":  with(`{"epoch":0,"size":1,"root":"` + root + `","uses":[{"id":"lease:x","until":1}]}`),
		"not UTF-8": with("{\"epoch\":0,\"size\":1,\"root\":\"" + root +
			"\",\"uses\":[{\"id\":\"approval:\xff\",\"until\":1}]}"),
	} {
		if _, err := Decode(b); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Decode(good); err != nil {
		t.Error(err)
	}
}

func TestAMarkThatIsMissing(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	if err := os.Remove(g.Path()); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]*Guard{"same": g, "another": New(g.o)} {
		if _, _, err := of.Look(); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := g.Advance(0, head(2)); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

// Another directory takes the mark along; those who have the old one open follow.
func TestAMarkMoves(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	other := New(g.o)
	look(t, other)
	to := filepath.Join(t.TempDir(), "elsewhere")
	if moved, err := g.Move(to); !moved || err != nil {
		t.Fatal(moved, err)
	}
	if err := other.Advance(0, head(8)); err != nil {
		t.Fatal(err)
	}
	if st := look(t, g); st.Head != head(8) || filepath.Dir(g.Path()) != to {
		t.Errorf("%+v in %s", st, g.Path())
	}
	if moved, err := g.Move(to); moved || err != nil {
		t.Error(moved, err)
	}
}

// What nothing can come of any more goes when the file is written anew.
func TestUsesThatAreOverGo(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	long := strings.Repeat("x", 900)
	for i := range 1200 {
		until := t0.Add(-48 * time.Hour)
		if i%100 == 0 {
			until = t0
		}
		if err := g.Intend(0, head(2), []Use{{ID: fmt.Sprintf("%s%s-%d", Approval, long, i), Until: until.Unix()}},
			t0); err != nil {
			t.Fatal(err)
		}
	}
	st := look(t, New(g.o))
	live := 0
	for _, u := range st.Uses {
		if u.Until == t0.Unix() {
			live++
		}
	}
	if live != 12 || len(st.Uses) > 600 {
		t.Errorf("%d uses, %d of them live", len(st.Uses), live)
	}
}

func TestWhereAMarkIs(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"XDG_DATA_HOME": "/d", "HOME": "/h"}, "/d/belay/marks"},
		{map[string]string{"XDG_DATA_HOME": "relative", "HOME": "/h"}, "/h/.local/share/belay/marks"},
		{map[string]string{"HOME": "/h"}, "/h/.local/share/belay/marks"},
	} {
		if got, err := Dir(env(c.env)); got != c.want || err != nil {
			t.Errorf("%v: %s, %v", c.env, got, err)
		}
	}
	if _, err := Dir(env(nil)); !errors.Is(err, ErrNoPlace) {
		t.Error(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real"), link); err != nil {
		t.Fatal(err)
	}
	a, err1 := Name(filepath.Join(dir, "real"))
	b, err2 := Name(link)
	if a != b || len(a) != 32 || err1 != nil || err2 != nil {
		t.Error(a, b, err1, err2)
	}
}

// A disk that fails leaves the use not noted, and the next one writes the file anew.
func TestAMarkThatCannotBeWritten(t *testing.T) {
	g := newGuard(t)
	adopt(t, g)
	bad := New(Options{Dir: g.o.Dir, Name: g.o.Name, Disk: failingDisk{}})
	defer bad.Close()
	if err := bad.Intend(0, head(1), []Use{{ID: Approval + "a", Until: 1}}, t0); !errors.Is(err, errSync) {
		t.Fatal(err)
	}
	if !bad.doubt {
		t.Error("a failed sync is forgotten")
	}
	if err := bad.Intend(0, head(1), []Use{{ID: Approval + "b", Until: t0.Unix()}}, t0); err != nil { // a rewrite
		t.Fatal(err)
	}
	if st := look(t, g); st.Uses[Approval+"b"].ID == "" {
		t.Errorf("%+v", st)
	}
}

var errSync = errors.New("sync failed")

type failingDisk struct{ osDisk }

func (d failingDisk) Open(path string) (File, error) {
	f, err := d.osDisk.Open(path)
	return failingFile{f}, err
}

type failingFile struct{ File }

func (failingFile) Sync() error { return errSync }

func TestHeads(t *testing.T) {
	for _, h := range []Head{{}, head(1), head(1 << 40)} {
		if got, err := ParseHead(h.String()); got != h || err != nil {
			t.Errorf("%v: %v, %v", h, got, err)
		}
	}
	for _, bad := range []string{"", "1", ":", "-1:" + encodeRoot(head(1)), "01:" + encodeRoot(head(1)), "1:AAAA",
		"1:" + encodeRoot(head(1)) + "\n"} {
		if h, err := ParseHead(bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v, %v", bad, h, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	b, err := encode(&State{Store: store, Head: head(3),
		Uses:     map[string]Use{Approval + "a": {ID: Approval + "a", Until: 5}, Lease + "l": {ID: Lease + "l", Count: 2}},
		Recovery: &Recovery{Size: 3, Body: "{}"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)-4])
	f.Add([]byte(header))
	f.Add([]byte(wideMark))
	f.Fuzz(func(t *testing.T, b []byte) {
		st, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		// A mark that can be read can be written, and reads the same.
		again, err := encode(st)
		if err != nil {
			t.Fatal(err)
		}
		next, err := Decode(again)
		if err != nil || next.Head != st.Head || next.Store != st.Store || len(next.Uses) != len(st.Uses) {
			t.Fatalf("%+v, %+v, %v", st, next, err)
		}
	})
}

func FuzzAdoption(f *testing.F) {
	f.Add([]byte(`{"version":1,"store":"` + store + `","dir":"/d"}`))
	f.Add([]byte(`{"version":1,"version":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := DecodeAdoption(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		again, err := a.encode()
		if err != nil {
			t.Fatal(err)
		}
		if next, err := DecodeAdoption(again); err != nil || *next != *a {
			t.Fatal(next, err)
		}
	})
}
