package links_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/links"
)

// A path of which the system cannot tell is neither taken for a plain file nor for one that is not there.
func TestReadlink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("../else/where", link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		target string
		class  error
	}{
		link:                                  {"../else/where", nil},
		file:                                  {"", links.ErrNotLink},
		dir:                                   {"", links.ErrNotLink},
		filepath.Join(dir, "none"):            {"", fs.ErrNotExist},
		filepath.Join(file, "none"):           {"", fs.ErrNotExist},
		dir + "/" + strings.Repeat("a", 5000): {"", syscall.ENAMETOOLONG},
	} {
		if target, err := links.Readlink(path); target != want.target || !errors.Is(err, want.class) {
			t.Errorf("%s: %q, %v; want %q, %v", path, target, err, want.target, want.class)
		}
	}
}
