package notes_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/notes"
)

// On a disk that is full no note is lost, nor told twice. Where no tmpfs can be mounted,
// the file of the spool cannot be opened instead.
func TestAFullDiskLosesNoNote(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, notes.SpoolName)
	mounted := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=700")
	if mounted == nil {
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	}
	if err := notes.Reserve(path); err != nil {
		t.Fatal(err)
	}
	if err := notes.Append(path, noteNumber(0)); err != nil {
		t.Fatal(err)
	}
	if mounted == nil {
		f, err := os.Create(filepath.Join(dir, "ballast"))
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		f.Close()
	} else {
		t.Logf("no tmpfs here (%v): the spool's file is a directory instead", mounted)
		if err := errors.Join(os.Rename(path, path+".1"), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	const blocked = 3000
	for n := 1; n < blocked; n++ {
		if err := notes.Append(path, noteNumber(n)); err != nil {
			t.Fatalf("note %d: %v", n, err)
		}
	}
	all := 0
	if mounted != nil {
		list, dropped := notes.Read(path + ".1")
		r := notes.ReadReserve(path)
		all = len(list) + dropped + len(r.Notes) + r.Dropped
	} else {
		all, _ = held(path)
	}
	if all != blocked {
		t.Errorf("%d of %d", all, blocked)
	}
}
