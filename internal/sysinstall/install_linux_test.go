package sysinstall

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/system"
)

func TestInstallIntoAnImage(t *testing.T) {
	needsRoot(t)
	tree := image(t)
	o := options(t, "v1.0.0")
	if rows, installed := tree.Status(); installed || len(rows) != 1 {
		t.Errorf("before: %+v", rows)
	}
	if notes := install(t, tree, o); len(notes) != 0 {
		t.Errorf("notes %q", notes)
	}
	if text := faults(tree); text != "" {
		t.Error(text)
	}
	accounts, err := tree.accounts()
	if err != nil || len(accounts) != 2 || accounts["belay"].UID == accounts["belay-tools"].UID {
		t.Fatalf("%+v, %v", accounts, err)
	}
	for name, want := range map[string]struct {
		mode fs.FileMode
		uid  int
	}{
		system.ConfigDir:                    {fs.ModeDir | 0o755, 0},
		system.ConfigFile:                   {0o644, 0},
		system.StateDir:                     {fs.ModeDir | 0o700, accounts["belay"].UID},
		"/usr/local/bin/belay":              {0o755, 0},
		"/usr/local/bin/belay-hook":         {0o755, 0},
		"/usr/local/bin/belay-eval":         {0o755, 0},
		"/etc/systemd/system/belay.service": {0o644, 0},
	} {
		fi, err := os.Lstat(tree.Outer(name))
		if err != nil || fi.Mode() != want.mode || int(fi.Sys().(*syscall.Stat_t).Uid) != want.uid {
			t.Errorf("%s: %v, %v; want %+v", name, fi, err, want)
		}
	}
	if target, err := os.Readlink(tree.Outer(wantsDir + "/belay.socket")); err != nil ||
		target != unitDir+"/belay.socket" {
		t.Errorf("%q, %v", target, err)
	}
	if _, err := os.Lstat(tree.Outer(system.RunDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("/run/belay is made at each start, not in an image: %v", err)
	}

	p, err := tree.Plan(o)
	if err != nil || p.Changes() {
		t.Errorf("the second time there is nothing to do: %+v, %v", p, err)
	}
}

// Whatever an installation before has left, the next one goes on from there.
func TestInstallGoesOnAfterAnyStep(t *testing.T) {
	needsRoot(t)
	o := options(t, "v1.0.0")
	for n := 1; ; n += 17 {
		tree := image(t)
		p, err := tree.Plan(o)
		if err != nil {
			t.Fatal(err)
		}
		stop := stopAfter(tree, n)
		if _, err = p.Apply(context.Background(), nil); err == nil {
			return
		}
		tree.changed = nil
		if !errors.Is(err, stop) {
			t.Fatal(n, err)
		}
		if faults(tree) == "" {
			t.Errorf("after %d steps status is green", n)
		}
		install(t, tree, o)
		if text := faults(tree); text != "" {
			t.Errorf("after %d steps: %s", n, text)
		}
	}
}

// What stands in the place of a file of belay's and is not belay's is refused, and nothing is written: neither
// there nor where it leads.
func TestForeignFilesAreRefused(t *testing.T) {
	o := options(t, "v1.0.0")
	for _, it := range items(o.Policy, o.Programs) {
		if it.kind == account || it.live {
			continue
		}
		for name, place := range map[string]func(path, victim string) error{
			"a link":            func(path, victim string) error { return os.Symlink(victim, path) },
			"a link to nothing": func(path, victim string) error { return os.Symlink(victim+".gone", path) },
			"a pipe":            func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
			"a directory":       func(path, _ string) error { return os.Mkdir(path, 0o755) },
			"a foreign file":    func(path, _ string) error { return os.WriteFile(path, []byte("foreign"), 0o644) },
			"open to others": func(path, _ string) error {
				return errors.Join(os.WriteFile(path, it.content, 0o644), os.Chmod(path, 0o666))
			},
		} {
			isDir := it.kind == sharedDir || it.kind == ownDir
			if name == "a directory" && isDir || name == "a foreign file" && it.kind == configFile &&
				it.path != system.ConfigFile {
				continue
			}
			t.Run(it.path+" is "+name, func(t *testing.T) {
				tree := image(t)
				victim := filepath.Join(t.TempDir(), "victim")
				put(t, victim, "untouched", 0o600)
				if err := os.MkdirAll(filepath.Dir(tree.Outer(it.path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := place(tree.Outer(it.path), victim); err != nil {
					t.Fatal(err)
				}
				_, err := tree.Plan(o)
				var refused Refused
				if !errors.As(err, &refused) || refused[0].Advice == "" && refused[0].Reason == "" {
					t.Fatalf("planned: %v", err)
				}
				if !slices.ContainsFunc(refused, func(e *Error) bool { return strings.Contains(e.Error(), it.path) }) {
					t.Errorf("%v does not name %s", refused, it.path)
				}
				if read(t, victim) != "untouched" {
					t.Error("the file outside was written")
				}
				if _, err := os.Lstat(victim + ".gone"); err == nil {
					t.Error("a file was made outside")
				}
			})
		}
	}
}

// A user who can write to a directory on the way could put a link there after the look.
func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	needsRoot(t)
	o := options(t, "v1.0.0")
	tree := image(t)
	install(t, tree, o)
	for _, dir := range []string{"/etc", "/etc/belay", "/etc/systemd/system", "/usr/local/bin", "/var/lib",
		"/var/lib/belay"} {
		fi, err := os.Lstat(tree.Outer(dir))
		if err != nil {
			t.Fatal(err)
		}
		owner := fi.Sys().(*syscall.Stat_t)
		for name, change := range map[string]func(path string) error{
			"of another user": func(path string) error { return os.Chown(path, nobody, nobody) },
			"open to others":  func(path string) error { return os.Chmod(path, 0o777) },
		} {
			if err := change(tree.Outer(dir)); err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Plan(o); !errors.Is(err, ErrUnsafe) {
				t.Errorf("%s %s: planned: %v", dir, name, err)
			}
			if text := faults(tree); !strings.Contains(text, "fail") || !strings.Contains(text, dir) {
				t.Errorf("%s %s: status says %q", dir, name, text)
			}
			if err := errors.Join(os.Chown(tree.Outer(dir), int(owner.Uid), int(owner.Gid)),
				os.Chmod(tree.Outer(dir), fi.Mode().Perm())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if text := faults(tree); text != "" {
		t.Error(text)
	}
}

// Between the plan and its steps something may appear: it is not replaced.
func TestWhatAppearsMeanwhileIsNotReplaced(t *testing.T) {
	needsRoot(t)
	o := options(t, "v1.0.0")
	tree := image(t)
	install(t, tree, o)
	for _, name := range []string{system.ConfigFile, unitDir + "/belay.socket"} {
		if err := os.Remove(tree.Outer(name)); err != nil {
			t.Fatal(err)
		}
		p, err := tree.Plan(o)
		if err != nil {
			t.Fatal(err)
		}
		put(t, tree.Outer(name), "another program's", 0o644)
		if _, err := p.Apply(context.Background(), nil); err == nil {
			t.Errorf("%s: applied", name)
		}
		if got := read(t, tree.Outer(name)); got != "another program's" {
			t.Errorf("%s: replaced by %q", name, got)
		}
		if err := os.Remove(tree.Outer(name)); err != nil {
			t.Fatal(err)
		}
		tree.changed = func(what, changed string) error { // the last moment
			if what == "write" && changed == name {
				put(t, tree.Outer(name), "another program's", 0o644)
			}
			return nil
		}
		if _, err := p.Apply(context.Background(), nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: applied: %v", name, err)
		}
		tree.changed = nil
		if got := read(t, tree.Outer(name)); got != "another program's" {
			t.Errorf("%s: replaced by %q", name, got)
		}
		if err := os.WriteFile(tree.Outer(name), o.Policy.System, 0o644); err != nil { // for the next one
			t.Fatal(err)
		}
	}
}

// An image in a directory of another user could be exchanged for a link to / while other programs are
// started with its path.
func TestAnImageWhereOthersWriteIsRefused(t *testing.T) {
	needsRoot(t)
	above := filepath.Join(t.TempDir(), "above")
	image := filepath.Join(above, "image")
	if err := os.MkdirAll(image, 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := OpenTree(image)
	if err != nil {
		t.Fatal(err)
	}
	_ = tree.Close()
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Symlink(image, link), os.Chown(above, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{image, link} {
		if _, err := OpenTree(dir); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestAccountsThatAreNotBelays(t *testing.T) {
	for line, says := range map[string]string{
		"belay:x:0:0::/:/usr/sbin/nologin":                                      "no system user",
		"belay:x:1000:1000::/home/belay:/usr/sbin/nologin":                      "no system user",
		"belay:x:990:990::/:/bin/bash":                                          "can log in",
		"belay-tools:x:990:990::/:/bin/sh":                                      "can log in",
		"belay:x:33:33::/:/usr/sbin/nologin\nwww:x:33:33::/:/usr/sbin/nologin":  "shares uid 33",
		"belay:x:990:990::/:/sbin/nologin\nbelay-tools:x:990:990::/:/bin/false": "shares uid 990",
	} {
		tree := image(t)
		put(t, tree.Outer("/etc/passwd"), "root:x:0:0::/root:/bin/bash\n"+line+"\n", 0o644)
		if _, err := tree.Plan(options(t, "v1.0.0")); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", line, err, says)
		}
	}
}

func TestOneCommandAtATime(t *testing.T) {
	needsRoot(t)
	tree := image(t)
	o := options(t, "v1.0.0")
	install(t, tree, o)
	unlock, err := tree.lock(lockFile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tree.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(context.Background(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("installed meanwhile: %v", err)
	}
	if err := p.Upgrade(context.Background(), nil, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("upgraded meanwhile: %v", err)
	}
	r, err := tree.PlanRemoval(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Apply(context.Background(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("removed meanwhile: %v", err)
	}
	unlock()
	if _, err := p.Apply(context.Background(), nil); err != nil {
		t.Error(err)
	}
}
