//go:build unix

package statedir_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/statedir"
)

// TestMain is also the process that edits: until it is killed, or once.
func TestMain(m *testing.M) {
	file, line := os.Getenv("STATEDIR_TEST_FILE"), os.Getenv("STATEDIR_TEST_LINE")
	switch os.Getenv("STATEDIR_TEST_DO") {
	case "":
		os.Exit(m.Run())
	case "forever":
		for i := 0; ; i++ {
			if err := statedir.Edit(file, limit, func([]byte) ([]byte, error) { return whole(i), nil }); err != nil {
				panic(err)
			}
		}
	case "once":
		if err := statedir.Edit(file, limit, add(line+"\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// whole returns content that shows whether it is all there.
func whole(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%07d\n", i), 4000) }

func self(do, file, line string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "STATEDIR_TEST_DO="+do, "STATEDIR_TEST_FILE="+file, "STATEDIR_TEST_LINE="+line)
	c.Stderr = os.Stderr
	return c
}

// Twenty processes add a line each to one file, which each finds by another name.
func TestProcessesTakeTurns(t *testing.T) {
	dir := t.TempDir()
	f, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	write(t, f, "", 0o600)
	if err := os.Symlink("f", link); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := self("once", []string{f, link}[i%2], fmt.Sprintf("line %d", i)).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if !strings.Contains("\n"+string(b), fmt.Sprintf("\nline %d\n", i)) {
			t.Errorf("line %d was acknowledged and is not there", i)
		}
	}
	wantOnly(t, dir, "f", "link")
}

// A writer that is killed leaves the old content or the new, and no lock.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	f := filepath.Join(dir, "f")
	write(t, f, string(whole(0)), 0o600)
	for range 25 {
		c := self("forever", f, "")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10*time.Millisecond + rand.N(25*time.Millisecond))
		_ = c.Process.Kill()
		_ = c.Wait()
		b, err := os.ReadFile(f)
		if err != nil || len(b) != len(whole(0)) || !bytes.Equal(b, bytes.Repeat(b[:8], len(b)/8)) {
			t.Fatalf("half of an edit: %d bytes, %v", len(b), err)
		}
		begun := time.Now()
		if err := statedir.Edit(f, limit, func([]byte) ([]byte, error) { return whole(0), nil }); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begun); d > 10*time.Second {
			t.Fatalf("the next edit took %v", d)
		}
		wantOnly(t, dir, "f") // the killed process leaves no file
	}
}

// What holds the lock for long is named, and the file stays as it was.
func TestBusyNamesTheHolder(t *testing.T) {
	f := filepath.Join(t.TempDir(), "f")
	unlock, err := statedir.Lock(f)
	if err != nil {
		t.Fatal(err)
	}
	_, err = statedir.LockFor(f, 50*time.Millisecond)
	if !errors.Is(err, statedir.ErrBusy) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("%v", err)
	}
	unlock()
	if unlock, err = statedir.LockFor(f, time.Second); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// A file that is not regular is refused at once, also as a lock.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	// A socket stands for devices: a test that fails as root must not replace one of the machine's.
	pipe, toPipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "to-pipe"), filepath.Join(dir, "socket")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, toPipe); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, path := range []string{pipe, toPipe, dir, socket} {
			for name, err := range map[string]error{
				"Edit": statedir.Edit(path, limit, add("x")), "Replace": statedir.Replace(path, nil, 0o600), "Read": func() error {
					_, err := statedir.Read(path, limit)
					return err
				}(),
			} {
				if err == nil || !errors.Is(err, statedir.ErrUnsafe) && !errors.Is(err, unix.ENXIO) {
					t.Errorf("%s of %s: %v", name, path, err)
				}
			}
		}
		f := filepath.Join(dir, "f")
		if err := unix.Mkfifo(filepath.Join(dir, ".f.lock"), 0o600); err != nil {
			t.Error(err)
		}
		if err := statedir.Edit(f, limit, add("x")); !errors.Is(err, statedir.ErrUnsafe) {
			t.Errorf("a pipe in the place of the lock: %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for a pipe")
	}
}
