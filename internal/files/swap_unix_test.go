//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What takes the name between the look and the opening is refused as well, at once.
func TestAPipeThatTakesTheNameMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	swap := func(path string) (fs.FileInfo, error) {
		fi, err := os.Stat(path)
		return fi, errors.Join(err, os.Remove(path), unix.Mkfifo(path, 0o600))
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := open(path, os.O_RDONLY, swap)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrNotRegular) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits")
	}
}
