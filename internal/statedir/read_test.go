package statedir_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

const limit = 1 << 20

func add(line string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) { return append(old, line...), nil }
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s holds %q, %v; want %q", path, b, err, want)
	}
}

// wantOnly reports what else lies in a directory: locks and unfinished files.
func wantOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if strings.Join(have, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, have, want)
	}
}

func TestEditKeepsModeAndMakesAFile(t *testing.T) {
	dir := t.TempDir()
	f := filepath.Join(dir, "f")
	for _, err := range []error{statedir.Edit(f, limit, add("a")), statedir.Edit(f, limit, add("b"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantFile(t, f, "ab")
	if fi, _ := os.Stat(f); fi.Mode().Perm() != 0o600 {
		t.Errorf("a new file has the mode %v", fi.Mode())
	}
	if err := os.Chmod(f, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := statedir.Edit(f, limit, add("c")); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Stat(f); fi.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v", fi.Mode())
	}
	wantOnly(t, dir, "f")
}

// A change that fails, or that changes nothing, writes nothing.
func TestEditWritesNothingInVain(t *testing.T) {
	dir := t.TempDir()
	f := filepath.Join(dir, "f")
	no := errors.New("no")
	if err := statedir.Edit(f, limit, func(old []byte) ([]byte, error) {
		if old != nil {
			t.Errorf("no file, and old is %q", old)
		}
		return nil, no
	}); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	if err := statedir.Edit(f, limit, func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		t.Errorf("%v", err)
	}
	wantOnly(t, dir)
	write(t, f, "", 0o600)
	before, _ := os.Stat(f)
	if err := statedir.Edit(f, limit, func(old []byte) ([]byte, error) {
		if old == nil {
			t.Error("an empty file is taken for none")
		}
		return old, nil
	}); err != nil {
		t.Error(err)
	}
	if after, _ := os.Stat(f); !os.SameFile(before, after) {
		t.Error("the file was replaced by what it held")
	}
	write(t, f, "12345", 0o600)
	if err := statedir.Edit(f, 4, add("x")); !errors.Is(err, statedir.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	wantFile(t, f, "12345")
}

// An editor that saves while an edit is under way loses nothing, and neither does the edit.
func TestEditStartsAgainOnNewerBytes(t *testing.T) {
	f := filepath.Join(t.TempDir(), "f")
	write(t, f, "old\n", 0o600)
	times := 0
	err := statedir.Edit(f, limit, func(old []byte) ([]byte, error) {
		if times++; times == 1 {
			write(t, f, "by an editor\n", 0o600)
		}
		return append(old, "edit\n"...), nil
	})
	if err != nil || times != 2 {
		t.Errorf("%v after %d attempts", err, times)
	}
	wantFile(t, f, "by an editor\nedit\n")

	err = statedir.Edit(f, limit, func(old []byte) ([]byte, error) {
		write(t, f, string(old)+".", 0o600)
		return append(old, "never"...), nil
	})
	if !errors.Is(err, statedir.ErrChanging) {
		t.Errorf("a file that changes each time: %v", err)
	}
	if b, _ := os.ReadFile(f); bytes.Contains(b, []byte("never")) {
		t.Errorf("an edit that failed is stored: %q", b)
	}
}

// A file that appears, or goes, while it is edited: the edit starts again.
func TestEditSeesFilesComeAndGo(t *testing.T) {
	f := filepath.Join(t.TempDir(), "f")
	times := 0
	err := statedir.Edit(f, limit, func(old []byte) ([]byte, error) {
		if times++; times == 1 {
			write(t, f, "new\n", 0o600)
		}
		return append(old, "edit\n"...), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, f, "new\nedit\n")
	times = 0
	err = statedir.Edit(f, limit, func(old []byte) ([]byte, error) {
		if times++; times == 1 {
			os.Remove(f)
		}
		return append(old, "x"...), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, f, "x")
}

func TestLinksAreResolvedOnce(t *testing.T) {
	dir := t.TempDir()
	home, state := filepath.Join(dir, "dotfiles"), filepath.Join(dir, "state")
	for _, d := range []string{home, state} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	real, link := filepath.Join(home, "belay.yaml"), filepath.Join(state, "belay.yaml")
	write(t, real, "a", 0o640)
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	through := filepath.Join(dir, "through")
	if err := os.Symlink(state, through); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(statedir.Edit(link, limit, add("b")),
		statedir.Edit(filepath.Join(through, "belay.yaml"), limit, add("c")),
		statedir.Replace(link, []byte("abcd"), 0o600)); err != nil {
		t.Fatal(err)
	}
	wantFile(t, real, "abcd")
	if fi, _ := os.Lstat(link); fi.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	if fi, _ := os.Stat(real); fi.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v", fi.Mode())
	}
	wantOnly(t, home, "belay.yaml")
	wantOnly(t, state, "belay.yaml")

	if err := os.Chmod(home, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{statedir.Edit(link, limit, add("!")), statedir.Replace(link, []byte("!"), 0o600)} {
		if !errors.Is(err, statedir.ErrUnsafe) || !strings.Contains(err.Error(), real) {
			t.Errorf("a link to where others can write: %v", err)
		}
	}
	wantFile(t, real, "abcd")
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{statedir.Edit(link, limit, add("!")), statedir.Replace(link, []byte("!"), 0o600)} {
		if !errors.Is(err, statedir.ErrUnsafe) {
			t.Errorf("a link that leads nowhere: %v", err)
		}
	}
	if err := statedir.Create(link, nil, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}

// A link that is turned while an edit is under way: the edit is made where it leads then.
func TestLinkThatIsTurned(t *testing.T) {
	dir := t.TempDir()
	one, two, link := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "link")
	write(t, one, "1", 0o600)
	write(t, two, "2", 0o600)
	if err := os.Symlink(one, link); err != nil {
		t.Skip(err)
	}
	times := 0
	err := statedir.Edit(link, limit, func(old []byte) ([]byte, error) {
		if times++; times == 1 {
			os.Remove(link)
			os.Symlink(two, link)
		}
		return append(old, '+'), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, one, "1")
	wantFile(t, two, "2+")
}

func TestCreateNeverReplaces(t *testing.T) {
	f := filepath.Join(t.TempDir(), "f")
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := []string{}
	for _, text := range strings.Split("abcdefgh", "") {
		wg.Go(func() {
			err := statedir.Create(f, []byte(text), 0o600)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made = append(made, text)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(made) != 1 {
		t.Fatalf("%d made it: %q", len(made), made)
	}
	wantFile(t, f, made[0])
	wantOnly(t, filepath.Dir(f), "f")
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	f := filepath.Join(dir, "f")
	if err := errors.Join(statedir.Replace(f, []byte("a"), 0o600), statedir.Replace(f, []byte("b"), 0o644)); err != nil {
		t.Fatal(err)
	}
	wantFile(t, f, "b")
	if fi, _ := os.Stat(f); fi.Mode().Perm() != 0o600 {
		t.Errorf("the mode became %v", fi.Mode())
	}
	if err := statedir.Replace(dir, nil, 0o600); !errors.Is(err, statedir.ErrUnsafe) {
		t.Errorf("a directory: %v", err)
	}
	wantOnly(t, dir, "f")
}

// Goroutines of one process take turns like processes do.
func TestEditsOfOneProcess(t *testing.T) {
	f := filepath.Join(t.TempDir(), "f")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := statedir.Edit(f, limit, add(".")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantFile(t, f, strings.Repeat(".", 20))
}

// Files of the state directory have the names that they always had.
func TestLayout(t *testing.T) {
	digest := phases.ByteDigest([]byte("module"))
	if want := "sha256:120970d812836f19888625587a4606a5ad23cef31c8684e601771552548fc6b9"; digest != want {
		t.Errorf("digest %s, want %s", digest, want)
	}
	for got, want := range map[string]string{
		statedir.Keys("d"):                         "d/keys",
		statedir.Key(statedir.Keys("d"), "redact"): "d/keys/redact.key",
		statedir.Cache("d"):                        "d/cache",
		statedir.Blob("d", "sha256:00ff"):          "d/blobs/sha256/00ff",
		statedir.Inside("d", "hooks/a.wasm"):       "d/hooks/a.wasm",
		statedir.Inside("d", "/elsewhere/a.wasm"):  "/elsewhere/a.wasm",
	} {
		if filepath.ToSlash(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A module is stored once, and a damaged one is written again.
func TestStoreBlob(t *testing.T) {
	dir, file := t.TempDir(), []byte("module")
	digest := phases.ByteDigest(file)
	for range 2 {
		if err := statedir.StoreBlob(dir, digest, file); err != nil {
			t.Fatal(err)
		}
		if got, err := statedir.ReadModule(statedir.Blob(dir, digest)); err != nil || !bytes.Equal(got, file) {
			t.Fatalf("%q, %v", got, err)
		}
		if err := os.WriteFile(statedir.Blob(dir, digest), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := statedir.StoreBlob(filepath.Join(dir, "file"), digest, file); !errors.Is(err, statedir.ErrUnusable) {
		t.Errorf("below a file: %v", err)
	}
}

// A key is made once; one that is no key, or that others can read, is refused.
func TestKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	first, err := statedir.MakeKey(dir, "redact")
	if err != nil || len(first) != statedir.KeySize {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	if again, err := statedir.MakeKey(dir, "redact"); err != nil || !bytes.Equal(first, again) {
		t.Errorf("it was made anew: %v", err)
	}
	path := statedir.Key(dir, "redact")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := statedir.ReadKey(path); err == nil {
		t.Error("others can read it")
	}
	if err := os.WriteFile(statedir.Key(dir, "short"), first[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := statedir.MakeKey(dir, "short"); err == nil || !strings.Contains(err.Error(), "31 bytes instead of 32") {
		t.Errorf("a short key: %v", err)
	}
}
