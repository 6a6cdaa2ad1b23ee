//go:build agents

package agents_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/agents"
)

// systemYAML is the machine's: the users who may ask, and whom a blocked person calls.
const systemYAML = "version: belay-system/v1\ncontact: \"the platform team, #belay\"\nusers: {allow: [alice, bob]}\n"

// sockets are what agents connect to.
func sockets() []string { return []string{"/run/belay/belay.sock", "/run/belay/frame.sock"} }

// newSystemHost sets belay up anew as root does, with the policy and the lines added to it, and has it listen. Nothing
// of the case before is left: no state, no managed settings, nothing in the homes.
func newSystemHost(t *testing.T, added string) *host {
	t.Helper()
	h := &host{t: t, bin: "/usr/local/bin", state: "/var/lib/belay/users/1501", system: true}
	t.Cleanup(h.stop)
	var err error
	state, _ := filepath.Glob("/var/lib/belay/*")
	old := append(managedDirs(), "/home/alice", "/home/bob", filepath.Join(h.bin, "belay-hook"))
	for _, dir := range append(old, state...) {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	for dir, uid := range map[string]int{"/home/alice": alice, "/home/bob": bob} {
		err = errors.Join(err, os.Mkdir(dir, 0o700), os.Chown(dir, uid, uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	install := exec.Command(filepath.Join(programsOf, "belay"), "system", "install", "--no-start")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("belay system install: %v\n%s", err, out)
	}
	added = strings.NewReplacer("$STATE", h.state, "$BIN", h.bin).Replace(added)
	err = errors.Join(os.WriteFile("/etc/belay/system.yaml", []byte(systemYAML), 0o644),
		os.WriteFile("/etc/belay/belay.yaml", []byte(policy+added), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	h.start()
	return h
}

// listen has the sockets opened as systemd does; the first question starts the daemon. That one is alice's.
func (h *host) listen() {
	h.t.Helper()
	if err := os.MkdirAll("/run/belay", 0o755); err != nil {
		h.t.Fatal(err)
	}
	var args []string
	for _, s := range sockets() {
		_ = os.Remove(s)
		args = append(args, "-l", s)
	}
	args = append(args, "setpriv", "--reuid", "belay", "--regid", "belay", "--clear-groups",
		"/usr/local/bin/belay", "serve", "--system", "--log", "json")
	h.serve, h.log = exec.Command("systemd-socket-activate", args...), new(bytes.Buffer)
	h.serve.Dir = "/"
	h.serve.Stdout, h.serve.Stderr = h.log, h.log
	if err := h.serve.Start(); err != nil {
		h.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := errors.Join(os.Chmod(sockets()[0], 0o666), os.Chmod(sockets()[1], 0o666))
		out := ""
		if err == nil {
			out, err = runAs(h.t, alice, "/", nil, "/usr/local/bin/belay", "status")
			if strings.Contains(out, "running, process") {
				return
			}
		}
		if time.Now().After(end) {
			h.t.Fatalf("the daemon does not answer: %v\n%s\n%s", err, out, h.log)
		}
	}
}

// runAs runs a program as a user for two minutes at most and returns its output, of both channels.
func runAs(t *testing.T, uid int, dir string, env []string, args ...string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if env == nil {
		home := map[int]string{alice: "/home/alice", bob: "/home/bob"}[uid]
		env = []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin"}
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, 5*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s did not end:\n%s", args[0], b.String())
	}
	return b.String(), err
}

// run runs a client in dir: on a machine as alice, to whom everything in her home belongs.
func (h *host) run(dir string, env []string, args ...string) (out string, err error) {
	h.t.Helper()
	if !h.system {
		return run(h.t, dir, env, args...)
	}
	h.give("/home/alice")
	return runAs(h.t, alice, dir, env, args...)
}

// give makes everything below dir alice's.
func (h *host) give(dir string) {
	h.t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, alice, alice)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// dir returns a new directory of the person's, outside of the project.
func (h *host) dir() string {
	h.t.Helper()
	if !h.system {
		return h.t.TempDir()
	}
	dir, err := os.MkdirTemp("/tmp", "alice")
	if err == nil {
		err = os.Lchown(dir, alice, alice)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// root returns the directory of a client's home and project: alice's home, or a new one.
func (h *host) root(name string) string {
	h.t.Helper()
	if h.system {
		return "/home/alice"
	}
	root, err := os.MkdirTemp("/var/tmp", name)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = os.RemoveAll(root) })
	return root
}

// home returns the home directory below root.
func (h *host) home(root string) string {
	if h.system {
		return root
	}
	return filepath.Join(root, "home")
}

// connect writes the managed settings of the runtime, as root does for every user.
func (h *host) connect(runtime string, flags ...string) {
	h.t.Helper()
	cmd := exec.Command("/usr/local/bin/belay", append([]string{"system", "connect", runtime}, flags...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("belay system connect %s: %v\n%s", runtime, err, out)
	}
}

// etc is the place of a file of /etc that the client is to see: on a machine it is that file.
func (h *host) etc(managed, file string) string {
	if h.system {
		return filepath.Join("/etc", file)
	}
	return filepath.Join(managed, "etc", file)
}

// tried returns the levels, of those of a case, that this run tries. In system mode that is one alone, for each case
// that is tried at the level managed, unless it is apart.
func tried(levels []agents.Level, apart bool) []agents.Level {
	switch {
	case !machined():
		return slices.DeleteFunc(slices.Clone(levels), func(l agents.Level) bool { return l == agents.System })
	case apart || !slices.Contains(levels, agents.Managed) && !slices.Contains(levels, agents.System):
		return nil
	}
	return []agents.Level{agents.System}
}

// wrap puts a script in the place of root's belay-hook, which ends by becoming it. It stands for what happens to that
// process: no user can put anything there.
func (h *host) wrap(script string) {
	h.t.Helper()
	hook := filepath.Join(h.bin, "belay-hook")
	script = strings.ReplaceAll(script, `"$*"`, `"$* "`) // no argument follows the last one, as --state does elsewhere
	err := errors.Join(os.Rename(hook, hook+".real"),
		os.WriteFile(hook, []byte("#!/bin/sh\n"+script+"\nexec '"+hook+".real' \"$@\"\n"), 0o755))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = os.Remove(hook + ".real") })
}

// usurp tries as alice to put a listener in the place of the daemon's sockets, which has to fail.
func (h *host) usurp() {
	h.t.Helper()
	for _, s := range sockets() {
		out, err := runAs(h.t, alice, "/", nil, "python3", "-c", "import os, socket, sys\n"+
			"try: os.unlink(sys.argv[1])\nexcept PermissionError as e: print(e)\n"+
			"socket.socket(socket.AF_UNIX).bind(sys.argv[1])", s)
		if err == nil || !strings.Contains(out, "Permission denied") && !strings.Contains(out, "in use") {
			h.t.Errorf("alice listens at %s: %v\n%s", s, err, out)
		}
	}
}

// goneAt returns a command, for a client that works in dir, which kills the daemon and goes on. In system mode no
// command of the person's can do that, and the test does.
func (h *host) goneAt(dir string) string {
	if !h.system {
		return "sleep 1; kill -9 $(cat '" + h.state + "/belay.lock'); sleep 1; "
	}
	file := filepath.Join(dir, "gone.txt")
	go func() {
		for h.t.Context().Err() == nil {
			if _, err := os.Stat(file); err == nil {
				h.signal(syscall.SIGKILL)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return "touch '" + file + "'; sleep 2; "
}

// account gives alice's account another shell, until the test ends.
func (h *host) account(shell string) {
	h.t.Helper()
	if shell == "" {
		return
	}
	program, err := exec.LookPath(shell)
	if err != nil {
		h.t.Fatalf("%v: scripts/setup installs it", err)
	}
	const file = "/etc/passwd"
	before, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = os.WriteFile(file, before, 0o644) })
	after := strings.Replace(string(before), ":/home/alice:/bin/bash", ":/home/alice:"+program, 1)
	if err := os.WriteFile(file, []byte(after), 0o644); err != nil {
		h.t.Fatal(err)
	}
}
