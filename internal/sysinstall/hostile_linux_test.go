package sysinstall

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/system"
)

const nobody = 65534

// A user who tries all the time to put links and pipes where files of belay's are expected changes nothing.
func TestAUserRacesInstallAndUpgrade(t *testing.T) {
	needsRoot(t)
	tree := image(t)
	victim := plants(t, tree)
	for _, version := range []string{"v1.0.0", "v2.0.0"} {
		install(t, tree, options(t, version))
		if text := faults(tree); text != "" {
			t.Errorf("%s: %s", version, text)
		}
	}
	p, err := tree.Plan(options(t, "v3.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Upgrade(context.Background(), nil, nil); err != nil {
		t.Error(err)
	}
	if text := faults(tree); text != "" || read(t, victim) != "untouched" {
		t.Errorf("%s; the file outside holds %q", text, read(t, victim))
	}
}

// plants has a user put links, pipes and directories where files of belay's are expected, until the test ends. It
// returns the file that the links lead to.
func plants(t *testing.T, tree *Tree) (victim string) {
	t.Helper()
	victim = filepath.Join(t.TempDir(), "victim")
	put(t, victim, "untouched", 0o666)
	script := "while :; do for f in " + strings.Join([]string{tree.dir, tree.Outer("/etc"), tree.Outer(system.ConfigDir),
		tree.Outer(system.ConfigFile), tree.Outer(system.StateDir), tree.Outer(ProgramDir + "/belay"),
		tree.Outer(ProgramDir + "/" + tryPrefix + "belay"), tree.Outer(unitDir + "/belay.service"), tree.Outer(lockFile),
		tree.Outer(ManifestFile)}, " ") +
		"; do mv $f $f.away; ln -sfn " + victim + " $f; rm -rf $f; mkfifo $f; rm -f $f; mkdir $f; done; done"
	other := exec.Command("/bin/sh", "-c", script)
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(other.Process.Kill(), other.Wait()) })
	return victim
}

// source is a state directory of another user, with a log.
func source(t *testing.T) string {
	t.Helper()
	needsRoot(t)
	dir := filepath.Join(t.TempDir(), "state")
	put(t, filepath.Join(dir, "belay.db"), "log", 0o600)
	put(t, filepath.Join(dir, "keys", "lease.key"), "key", 0o600)
	put(t, filepath.Join(dir, "keys", "terminal.key"), "not taken", 0o600)
	for _, name := range []string{"", "belay.db", "keys", "keys/lease.key"} {
		if err := os.Chown(filepath.Join(dir, name), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func send(dir string) (*bytes.Buffer, error) {
	s, err := OpenSource(dir, nobody, nil)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	return &b, errors.Join(s.Send(&b), s.Close())
}

// Root reads a user's directory: what is not the user's own file is not read for them.
func TestImportReadsFilesOfTheUserOnly(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "root's secret", 0o600)
	for name, change := range map[string]func(dir string) error{
		"a link":        func(dir string) error { return os.Symlink(secret, filepath.Join(dir, "clock.json")) },
		"a second name": func(dir string) error { return os.Link(secret, filepath.Join(dir, "clock.json")) },
		"a pipe":        func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "spool.jsonl"), 0o600) },
		"a link to a folder": func(dir string) error {
			return errors.Join(os.RemoveAll(dir+"/keys"),
				os.Symlink("/etc", dir+"/keys"))
		},
		"another's mark": func(dir string) error {
			text := `{"version":1,"store":"00000000000000000000000000000000","dir":"` + filepath.Dir(secret) + `"}`
			name := filepath.Join(dir, "keys", "high-water.json")
			return errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chown(name, nobody, nobody))
		},
	} {
		dir := source(t)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		b, err := send(dir)
		if err == nil || bytes.Contains(b.Bytes(), []byte("root's secret")) {
			t.Errorf("%s: sent, %v", name, err)
		}
	}
	if _, err := OpenSource(source(t), 1, nil); !errors.Is(err, ErrUnsafe) {
		t.Errorf("another user's directory: %v", err)
	}
	served := source(t)
	daemon, err := os.Open(served)
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Close()
	if err := syscall.Flock(int(daemon.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSource(served, nobody, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("a directory that a daemon serves: %v", err)
	}
}

// An archive that was cut off, or that is not proven, leaves nothing.
func TestImportIsWholeOrNothing(t *testing.T) {
	b, err := send(source(t))
	if err != nil {
		t.Fatal(err)
	}
	left := func(state string) string {
		entries, _ := os.ReadDir(filepath.Join(state, "users"))
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return strings.Join(out, " ")
	}
	proven := func(string, string) error { return nil }
	for n := 0; n < b.Len(); n += 512 { // a whole entry, and not the last
		state := t.TempDir()
		if n < b.Len()-1024-512 { // what follows the last entry is not looked at
			if err := Receive(bytes.NewReader(b.Bytes()[:n]), state, 1000, proven); err == nil || left(state) != "" {
				t.Errorf("cut off at %d: %v, %q is left", n, err, left(state))
			}
		}
	}
	state := t.TempDir()
	wrong := errors.New("wrong")
	if err := Receive(bytes.NewReader(b.Bytes()), state, 1000, func(string,
		string) error {
		return wrong
	}); !errors.Is(err, wrong) ||
		left(state) != "" {
		t.Errorf("not proven: %v, %q is left", err, left(state))
	}
	put(t, filepath.Join(state, "users", stagePrefix+"killed", "belay.db"), "", 0o600)
	if err := Receive(bytes.NewReader(b.Bytes()), state, 1000, proven); err != nil || left(state) != "1000" {
		t.Errorf("%v, %q", err, left(state))
	}
	if _, err := os.Lstat(filepath.Join(state, "users", "1000", "keys", "terminal.key")); err == nil {
		t.Error("the key of the terminal was taken")
	}
	if err := Receive(bytes.NewReader(b.Bytes()), state, 1000, proven); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: %v", err)
	}
}
