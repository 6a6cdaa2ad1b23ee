//go:build unix

package files_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/files"
)

// ways are the functions of the package that read a file by its name.
var ways = map[string]func(path string) ([]byte, error){
	"All":     func(p string) ([]byte, error) { return files.Read(p, 8) },
	"Start":   func(p string) ([]byte, error) { return files.Start(p, 8) },
	"Private": func(p string) ([]byte, error) { return files.Private(p, 8) },
	"Check":   func(p string) ([]byte, error) { return nil, files.Check(p) },
	"Open": func(p string) ([]byte, error) {
		f, err := files.Open(p)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(f)
	},
	"Stream": func(p string) ([]byte, error) {
		f, err := files.Stream(p)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(f)
	},
}

// atOnce runs what must not wait for another program.
func atOnce(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("it waits")
		return nil
	}
}

// Pipes, sockets, devices and directories are refused at once, by name and kind, also behind a link.
func TestWhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	dir, err := os.MkdirTemp("", "read") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	names := map[string]string{"pipe": "a pipe", "socket": "a socket", "dir": "a directory", "linked": "a pipe"}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err := errors.Join(err, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Mkdir(filepath.Join(dir, "dir"), 0o700),
		os.Symlink("pipe", filepath.Join(dir, "linked"))); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	check := func(path, is string) {
		for way, read := range ways {
			want, text := files.ErrNotRegular, is
			if way == "Private" {
				want, text = files.ErrNotPrivate, "chmod 600"
			}
			err := atOnce(t, func() error { _, err := read(path); return err })
			if !errors.Is(err, want) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s %s: %v", way, path, err)
			}
		}
	}
	for name, is := range names {
		check(filepath.Join(dir, name), is)
	}
	check("/dev/zero", "a device")
	for way, read := range ways {
		if _, err := read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) ||
			strings.Contains(err.Error(), "stat") {
			t.Errorf("%s of no file: %v", way, err)
		}
	}
}

// A pipe with a writer that never writes is refused as well: it would be waited for.
func TestAPipeWithAWriterIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for way, read := range ways {
		if err := atOnce(t, func() error { _, err := read(path); return err }); err == nil {
			t.Errorf("%s: a pipe was read", way)
		}
	}
}

// A file at its bound is read, one byte above it is refused, and Start cuts.
func TestTheBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for size, ok := range map[int]bool{0: true, 7: true, 8: true, 9: false, 1 << 20: false} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"All", "Private"} {
			b, err := ways[way](path)
			if ok && (err != nil || len(b) != size) || !ok &&
				(!errors.Is(err, files.ErrTooLarge) || !strings.Contains(err.Error(), path)) {
				t.Errorf("%s of %d bytes: %d, %v", way, size, len(b), err)
			}
		}
		if b, err := ways["Start"](path); err != nil || len(b) != min(size, 8) {
			t.Errorf("Start of %d bytes: %d, %v", size, len(b), err)
		}
	}
}

// A file that grows for as long as it is read comes to an end.
func TestAFileThatGrowsWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	add, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer add.Close()
	f, err := files.Stream(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := add.WriteString("new\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(f); err != nil || string(b) != "old\n" || f.Size() != 4 {
		t.Errorf("read %q, %v, size %d", b, err, f.Size())
	}
	stop := make(chan struct{})
	grown := make(chan struct{})
	go func() {
		defer close(grown)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = add.WriteString(strings.Repeat("x", 4096))
			}
		}
	}()
	err = atOnce(t, func() error { _, err := files.Read(path, 1<<20); return err })
	close(stop)
	<-grown
	if err != nil && !errors.Is(err, files.ErrTooLarge) {
		t.Error(err)
	}
}

// A secret that others can read is none, and a link to one is not followed.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := errors.Join(os.WriteFile(path, []byte("secret"), 0o600),
		os.Symlink("key", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	if b, err := files.Private(path, 8); err != nil || string(b) != "secret" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := files.Private(filepath.Join(dir, "link"), 8); !errors.Is(err, files.ErrNotPrivate) {
		t.Errorf("a link: %v", err)
	}
	if b, err := files.Read(filepath.Join(dir, "link"), 8); err != nil || string(b) != "secret" {
		t.Errorf("All of a link: %q, %v", b, err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Private(path, 8); !errors.Is(err, files.ErrNotPrivate) ||
			!strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}
