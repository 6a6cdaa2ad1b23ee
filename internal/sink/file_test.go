package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/kernel"
)

// source is a store's log that never loses anything.
type source struct{ leaves []kernel.LogLeaf }

func (s *source) add(pad int) {
	n := int64(len(s.leaves) + 1)
	s.leaves = append(s.leaves,
		kernel.LogLeaf{Seq: n, Body: fmt.Appendf(nil, `{"seq":%d,"reason":%q}`, n, strings.Repeat("x", pad))})
}

func (s *source) LogSize(context.Context) (int64, error) { return int64(len(s.leaves)), nil }

func (s *source) LogLeaves(_ context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	return s.leaves[min(int(after), len(s.leaves)):min(int(after)+limit, len(s.leaves))], nil
}

// text is what a complete file holds.
func (s *source) text() string {
	var b strings.Builder
	for _, l := range s.leaves {
		b.Write(l.Body)
		b.WriteByte('\n')
	}
	return b.String()
}

// whole returns what stands in all files, oldest first.
func (d *crashDisk) whole(path string) string {
	var b strings.Builder
	old, _ := d.after(path + ".")
	for _, name := range append(old, path) {
		if n := d.names[name]; n != nil {
			b.Write(n.cache)
		}
	}
	return b.String()
}

// The process or the power ends at any step, or any step fails: acknowledged
// events are there, and the next process leaves neither holes nor doubles.
func TestCrashes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newCrashDisk(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") })
		src := &source{}
		o := Options{Path: "/log/events.jsonl", Sync: rapid.Bool().Draw(rt, "sync")}
		if rapid.Bool().Draw(rt, "rotate") {
			o.Rotate = 700
		}
		var files []*File // as many processes
		acked := int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			if len(files) == 0 {
				files = []*File{newFile(src, o, d), newFile(src, o, d)}
			}
			for range rapid.IntRange(1, 4).Draw(rt, "events") {
				src.add(rapid.SampledFrom([]int{0, 0, 40, 40, 400, 400, 3000, 3000, maxWrite + 100}).Draw(rt, "pad"))
			}
			d.crashAt, d.failAt = 0, 0
			switch at := d.step + rapid.IntRange(1, 14).Draw(rt, "at"); rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				d.crashAt = at
			case 1:
				d.failAt = at
			}
			f := files[rapid.IntRange(0, len(files)-1).Draw(rt, "process")]
			want, ended := int64(len(src.leaves)), false
			err := func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						if _, ok := p.(crashed); !ok {
							panic(p)
						}
						ended, err = true, errDisk
					}
				}()
				return f.Follow(rt.Context(), want)
			}()
			if err == nil {
				acked = want
			} else if !errors.Is(err, errDisk) {
				rt.Fatalf("after a fault: %v", err)
			}
			if !ended && rapid.Bool().Draw(rt, "goes on") {
				continue
			}
			// Without syncs only the end of the process is survived.
			d.cut(o.Sync && rapid.Bool().Draw(rt, "power"))
			files = nil
			all := d.whole(o.Path)
			for _, l := range src.leaves[:acked] {
				if !strings.Contains(all, string(l.Body)+"\n") {
					rt.Fatalf("event %d was acknowledged and is gone", l.Seq)
				}
			}
			if err := newFile(src, o, d).Follow(rt.Context(), int64(len(src.leaves))); err != nil {
				rt.Fatalf("after a crash: %v", err)
			}
			if got := d.whole(o.Path); got != src.text() {
				rt.Fatalf("after a crash the file is not the log: %d bytes, want %d", len(got), len(src.text()))
			}
			acked = int64(len(src.leaves))
		}
	})
}

func follow(t *testing.T, src *source, o Options) error {
	t.Helper()
	f := NewFile(src, o)
	defer f.Close()
	return f.Follow(t.Context(), int64(len(src.leaves)))
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// On the real file system: mode, torn line, rotation, files kept.
func TestRealFile(t *testing.T) {
	src, path := &source{}, filepath.Join(t.TempDir(), "events.jsonl")
	for range 200 { // more than a page
		src.add(50)
	}
	o := Options{Path: path, Sync: true}
	if err := follow(t, src, o); err != nil || read(t, path) != src.text() {
		t.Fatalf("%v", err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	src.add(50)
	for _, torn := range []string{`{"seq":201,"rea`, "\x00\x00\x00", `{"seq":201,"rea` + "\n" + `{"seq":202}` + "\n"} {
		if err := os.WriteFile(path, []byte(read(t, path)+torn), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := follow(t, src, o); err != nil || read(t, path) != src.text() {
			t.Errorf("after %q: %v", torn, err)
		}
		src.add(50)
	}
	o.Rotate, o.Keep = 2000, 3
	for range 200 {
		src.add(50)
		if err := follow(t, src, o); err != nil {
			t.Fatal(err)
		}
	}
	old, err := filepath.Glob(path + ".*")
	if err != nil || len(old) != 3 {
		t.Fatalf("%q, %v", old, err)
	}
	var all bytes.Buffer
	for _, name := range append(old, path) {
		text := read(t, name)
		if len(text) > 2000+100 && name != old[0] {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		all.WriteString(text)
	}
	if all.Len() < 4000 || !strings.HasSuffix(src.text(), all.String()) {
		t.Errorf("%d bytes in the files are not the end of the log", all.Len())
	}
}

// Changes of the file or of the store are never hidden.
func TestForeignFilesAreLeftAlone(t *testing.T) {
	src := &source{}
	for range 5 {
		src.add(10)
	}
	lines := strings.SplitAfter(src.text(), "\n")[:5]
	for name, text := range map[string]string{
		"a changed event":       strings.Replace(src.text(), `{"seq":3,"reason":"x`, `{"seq":3,"reason":"y`, 1),
		"a missing event":       lines[0] + lines[1] + lines[3],
		"events of the future":  src.text() + `{"seq":6}` + "\n",
		"events moved":          lines[1] + lines[0],
		"another program's log": `{"level":"info"}` + "\n",
		"text":                  "one\ntwo\n",
		"a database":            "SQLite format 3\x00" + strings.Repeat("\x00", 100),
		"a large database":      "SQLite format 3\x00" + strings.Repeat("\x01", 2*maxWrite),
		"a configuration":       "version: belay/v1\n",
		"another log's start":   `{"seq":1,"rez`,
	} {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := follow(t, src, Options{Path: path, Sync: true}); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
		if read(t, path) != text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	for name, make := range map[string]func(path string) error{
		"a directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"a file that others write": func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o622))
		},
		"a directory that is not there": func(p string) error { return os.Remove(filepath.Dir(p)) },
	} {
		path := filepath.Join(t.TempDir(), "d", "events.jsonl")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), make(path)); err != nil {
			t.Fatal(err)
		}
		if err := follow(t, src, Options{Path: path}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// One event may be larger than the first block that is read; a crash damages
// all of it.
func TestLongLineTorn(t *testing.T) {
	src, path := &source{}, filepath.Join(t.TempDir(), "events.jsonl")
	for range 40 {
		src.add(maxWrite / 4)
	}
	o := Options{Path: path, Sync: true}
	if err := follow(t, src, o); err != nil {
		t.Fatal(err)
	}
	long := `{"seq":41,"reason":"` + strings.Repeat("x", 3*maxWrite)
	for _, torn := range []string{
		long[:maxWrite+1], long, long + strings.Repeat("\x00", 4096), strings.Repeat("\x00", maxWrite+5),
		long + strings.Repeat("\x00", 512) + "\"}\n",
	} {
		if err := os.WriteFile(path, []byte(read(t, path)+torn), 0o600); err != nil {
			t.Fatal(err)
		}
		src.add(50)
		if err := follow(t, src, o); err != nil || read(t, path) != src.text() {
			t.Errorf("after %d torn bytes: %v", len(torn), err)
		}
	}
}
