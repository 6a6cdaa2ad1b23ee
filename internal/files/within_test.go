package files_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/files"
)

func TestStreamWithin(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "dir")
	for name, text := range map[string]string{"dir/a": "inside", "dir/sub/b": "deep", "c": "outside", "dirt": "beside"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in": "sub/b", "out": "../c", "far": filepath.Join(root, "c"), "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]error{
		dir + "/a": nil, dir + "/sub/b": nil, dir + "/in": nil, dir + "/sub/../a": nil,
		dir + "/out": files.ErrElsewhere, dir + "/far": files.ErrElsewhere, dir + "/up/c": files.ErrElsewhere,
		dir + "/up/dir/a": files.ErrElsewhere, root + "/c": files.ErrElsewhere, root + "/dirt": files.ErrElsewhere,
		dir + "/../c": files.ErrElsewhere, "dir/a": files.ErrElsewhere,
		dir + "/sub": files.ErrNotRegular, dir: files.ErrNotRegular, dir + "/none": os.ErrNotExist,
	} {
		f, err := files.StreamWithin(dir, path)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if err != nil {
			continue
		}
		if b, err := io.ReadAll(f); err != nil || len(b) == 0 || f.Close() != nil {
			t.Errorf("%s: %q, %v", path, b, err)
		}
	}
	// A file that grows is read as far as it went.
	f, err := files.StreamWithin(dir, dir+"/a")
	if err == nil {
		err = os.WriteFile(dir+"/a", []byte("inside, and more"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(f); err != nil || string(b) != "inside" || f.Close() != nil {
		t.Errorf("a file that grows: %q, %v", b, err)
	}
	if os.Geteuid() != 0 {
		return // only root can give a file away
	}
	if err := os.Chown(dir+"/a", 4242, 4242); err != nil {
		t.Fatal(err)
	}
	if _, err := files.StreamWithin(dir, dir+"/a"); !errors.Is(err, files.ErrOwner) {
		t.Errorf("another user's file: %v", err)
	}
}
