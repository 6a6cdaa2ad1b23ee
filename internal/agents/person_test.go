//go:build agents

package agents_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// person is an ordinary user with a home, an empty project, and belay's programs in a directory of root's. Where the
// tests run as root it is another account.
type person struct {
	t                        *testing.T
	root, home, project, bin string
	uid                      int
}

// account is a number that belongs to no account.
const account = 64017

func newPerson(t *testing.T) *person {
	t.Helper()
	root, err := os.MkdirTemp("/var/tmp", "show")
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	p := &person{t: t, root: root, home: filepath.Join(root, "home"), project: filepath.Join(root, "home", "project"),
		bin: filepath.Join(root, "bin"), uid: os.Getuid()}
	if p.uid == 0 {
		p.uid = account
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	p.dir(p.bin, 0)
	for _, dir := range []string{p.home, p.project, p.tmp()} {
		p.dir(dir, p.uid)
	}
	for _, name := range []string{"belay", "belay-hook"} {
		p.program(filepath.Join(binaries(t), name))
	}
	p.file(filepath.Join(p.home, canary), "what must stay\n")
	return p
}

// canary is the file in the home by which a deletion shows.
const canary = "canary.txt"

func (p *person) tmp() string { return filepath.Join(p.root, "tmp") }

func (p *person) dir(path string, uid int) {
	p.t.Helper()
	err := os.MkdirAll(path, 0o755)
	if err == nil && os.Getuid() == 0 {
		err = os.Chown(path, uid, uid)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// file writes a file of the person's.
func (p *person) file(path, text string) {
	p.t.Helper()
	p.dir(filepath.Dir(path), p.uid)
	err := os.WriteFile(path, []byte(text), 0o644)
	if err == nil && os.Getuid() == 0 {
		err = os.Chown(path, p.uid, p.uid)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// program puts a program where the account can start it, once, and returns its place.
func (p *person) program(path string) string {
	p.t.Helper()
	to := filepath.Join(p.bin, filepath.Base(path))
	if _, err := os.Stat(to); err == nil || os.Link(path, to) == nil {
		return to
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return to
}

// run runs a program as the person, in the project, until it ends or kill is closed.
func (p *person) run(kill <-chan struct{}, env []string, args ...string) (string, error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.WaitDelay = p.project, 5*time.Second
	cmd.Env = append([]string{"PATH=" + p.bin + ":" + os.Getenv("PATH"), "HOME=" + p.home, "TMPDIR=" + p.tmp(),
		"npm_config_update_notifier=false"}, env...)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-kill:
			_ = cmd.Process.Kill()
		case <-ended:
		}
	}()
	err := cmd.Wait()
	if ctx.Err() != nil {
		p.t.Fatalf("%s did not end:\n%s", args[0], out.String())
	}
	return out.String(), err
}

// belay runs a command of belay as the person.
func (p *person) belay(args ...string) string {
	p.t.Helper()
	out, err := p.run(nil, nil, append([]string{filepath.Join(p.bin, "belay")}, args...)...)
	if err != nil {
		p.t.Fatalf("belay %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// standing is a digest of everything by which belay stands: the runtime's settings, and belay's policy and programs.
// What belay itself writes while it works is left out.
func (p *person) standing() string {
	h := sha256.New()
	for _, pattern := range []string{".claude/settings*.json", ".codex/hooks.json", ".codex/config.toml", ".codex/.env",
		"project/.claude/settings*.json", "project/.codex/*", ".local/state/belay/belay.yaml", "../bin/belay*"} {
		list, _ := filepath.Glob(filepath.Join(p.home, pattern))
		for _, f := range list {
			b, err := os.ReadFile(f)
			info, _ := os.Lstat(f)
			fmt.Fprintln(h, f, info.Mode(), sha256.Sum256(b), err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// alive reports whether the canary is there.
func (p *person) alive() bool {
	_, err := os.Stat(filepath.Join(p.home, canary))
	return err == nil
}
