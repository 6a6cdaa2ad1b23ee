package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// When one file cannot be made, none is written: earlier files stay, and no
// temporary one is left.
func TestOutputsAllOrNone(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "a.json")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := func() *outputs {
		o := &outputs{}
		for _, name := range []string{"a.json", "b.html"} {
			if err := o.add(filepath.Join(dir, name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return o
	}
	broken := errors.New("broken")
	err := begin().write(func(path string) ([]byte, error) {
		if filepath.Base(path) == "b.html" {
			return nil, broken
		}
		return []byte("new"), nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if b, _ := os.ReadFile(old); string(b) != "old" || len(names(t, dir)) != 1 {
		t.Errorf("%q, %v", b, names(t, dir))
	}
	begin().drop()
	if len(names(t, dir)) != 1 {
		t.Errorf("left over: %v", names(t, dir))
	}
	o := begin()
	if err := o.put(filepath.Join(dir, "c"), 0o600, []byte("c")); err != nil {
		t.Fatal(err)
	}
	if err := o.write(func(path string) ([]byte, error) { return []byte(filepath.Base(path)), nil }); err != nil {
		t.Fatal(err)
	}
	o.drop() // as commands do when they return
	for _, name := range []string{"a.json", "b.html", "c"} {
		if b, _ := os.ReadFile(filepath.Join(dir, name)); string(b) != name {
			t.Errorf("%s holds %q", name, b)
		}
	}
	if len(names(t, dir)) != 3 {
		t.Errorf("%v", names(t, dir))
	}
}

// One file under two names would hold only the last output.
func TestOutputsTwice(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	for _, second := range []string{"a.json", "./a.json", "again/a.json"} {
		o := &outputs{}
		if err := o.add(filepath.Join(dir, "a.json"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := o.add(dir+"/"+second, 0o600); err == nil {
			t.Errorf("%s is another file", second)
		}
		o.drop()
	}
}
