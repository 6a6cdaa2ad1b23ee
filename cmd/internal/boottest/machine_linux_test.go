package boottest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// imageVariable names the directory that a machine is a copy of.
const imageVariable = "BELAY_BOOT_IMAGE"

// Users of the machine.
const (
	root  = 0
	alice = 1501
	bob   = 1502
)

// machine is a system of its own, which systemd-nspawn runs.
type machine struct {
	t      *testing.T
	root   string
	nspawn *exec.Cmd
	over   chan struct{} // closed when nspawn has ended
	init   int           // its PID 1, as this machine counts
}

// newMachine makes a machine with two users and the programs of this tree in /opt/belay.
func newMachine(t *testing.T) *machine {
	t.Helper()
	image := os.Getenv(imageVariable)
	if image == "" {
		t.Skip("this boots a system of its own: make test-boot does, as root")
	}
	m := &machine{t: t, root: filepath.Join(t.TempDir(), "root")}
	m.outside("cp", "-a", "--reflink=auto", image, m.root)
	for user, uid := range map[string]int{"alice": alice, "bob": bob} {
		m.outside("useradd", "--prefix", m.root, "--create-home", "--uid", strconv.Itoa(uid), user)
	}
	t.Cleanup(m.kill)
	return m
}

// must fails the test for an error.
func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// outside runs a program of this machine.
func (m *machine) outside(name string, args ...string) {
	m.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// build puts the programs into a directory of the machine; the version is what belay says of itself.
func (m *machine) build(dir, version string, programs ...string) {
	m.t.Helper()
	m.must(os.MkdirAll(m.path(dir), 0o755))
	args := []string{"build", "-trimpath", "-ldflags", "-X github.com/belay-hooks/belay/cmd/internal/cli.stamped=" +
		version, "-o", m.path(dir)}
	for _, p := range programs {
		args = append(args, "../../"+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("%v\n%s", err, out)
	}
}

// path is where a path of the machine lies on this one.
func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

// write puts a file of root's into the machine.
func (m *machine) write(name, content string, mode os.FileMode) {
	m.t.Helper()
	m.must(os.MkdirAll(filepath.Dir(m.path(name)), 0o755))
	m.must(os.WriteFile(m.path(name), []byte(content), mode))
	m.must(os.Chmod(m.path(name), mode))
}

// bootTime is how long a machine may take to start or to end.
const bootTime = time.Minute

// boot starts the machine, and waits until systemd has started all that starts with it.
func (m *machine) boot() {
	m.t.Helper()
	// nspawn's own filter does not know Landlock everywhere; the kernel's own answer is what the daemon should get.
	args := []string{"--quiet", "--boot", "--directory=" + m.root, "--machine=belay-boot-" + strconv.Itoa(os.Getpid()),
		"--private-network", "--register=no", "--link-journal=no",
		"--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self"}
	if _, err := os.Lstat("/run/systemd/system"); err != nil {
		args = append(args, "--keep-unit") // nothing here makes a unit for it
	}
	console, err := os.Create(m.root + ".console")
	m.must(err)
	defer console.Close()
	m.nspawn = exec.Command("systemd-nspawn", args...)
	m.nspawn.Stdout, m.nspawn.Stderr = console, console
	m.must(m.nspawn.Start())
	nspawn, over := m.nspawn, make(chan struct{})
	go func() {
		_ = nspawn.Wait() // the console tells more
		close(over)
	}()
	m.over = over
	for end := time.Now().Add(bootTime); ; time.Sleep(20 * time.Millisecond) {
		if pid, ok := firstProcess(m.nspawn.Process.Pid); ok {
			m.init = pid
			state, _, _ := m.run(root, "", "systemctl", "is-system-running")
			switch strings.TrimSpace(state) {
			case "running":
				return
			case "degraded":
				failed, _, _ := m.run(root, "", "systemctl", "--failed", "--plain", "--no-legend")
				m.t.Fatalf("units failed at boot:\n%s", failed)
			}
		}
		select {
		case <-m.over:
			m.t.Fatalf("the machine ended:\n%s", m.console())
		default:
		}
		if time.Now().After(end) {
			m.t.Fatalf("the machine does not start:\n%s", m.console())
		}
	}
}

// firstProcess finds the child of nspawn that is PID 1 of a namespace.
func firstProcess(nspawn int) (pid int, ok bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil || !bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", nspawn)) {
			continue
		}
		for line := range bytes.Lines(status) {
			if rest, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
				if f := bytes.Fields(rest); len(f) > 1 && string(f[len(f)-1]) == "1" {
					return pid, true
				}
			}
		}
	}
	return 0, false
}

func (m *machine) console() string {
	b, err := os.ReadFile(m.root + ".console")
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4000):])
}

// reboot ends everything in order, and starts again.
func (m *machine) reboot() {
	m.t.Helper()
	_, _, _ = m.run(root, "", "systemctl", "poweroff") // it may end before it answers
	select {
	case <-m.over:
	case <-time.After(bootTime):
		m.t.Fatalf("the machine does not end:\n%s", m.console())
	}
	m.boot()
}

// kill ends the machine, as if its power went.
func (m *machine) kill() {
	if m.nspawn == nil {
		return
	}
	_ = syscall.Kill(m.init, syscall.SIGKILL)
	_ = m.nspawn.Process.Kill()
	<-m.over
}

// run runs a command of the machine as a user, and returns what it printed and its exit status.
func (m *machine) run(uid int, stdin, name string, args ...string) (out, errs string, code int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := m.command(ctx, uid, name, args...)
	var o, e bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// command is a command of the machine, as a user.
func (m *machine) command(ctx context.Context, uid int, name string, args ...string) *exec.Cmd {
	home := map[int]string{root: "/root", alice: "/home/alice", bob: "/home/bob"}[uid]
	id := strconv.Itoa(uid)
	return exec.CommandContext(ctx, "nsenter", append([]string{"--target", strconv.Itoa(m.init), "--mount", "--uts",
		"--ipc", "--net",
		"--pid", "--root", "--wd", "env", "-i", "HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin",
		"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--", name}, args...)...)
}

// as runs a command that has to end with 0, and returns what it printed.
func (m *machine) as(uid int, name string, args ...string) string {
	m.t.Helper()
	out, errs, code := m.run(uid, "", name, args...)
	if code != 0 {
		m.t.Fatalf("%s %s: exit %d\n%s%s", name, strings.Join(args, " "), code, out, errs)
	}
	return out
}

// show returns a property of a unit, as systemd has it in force.
func (m *machine) show(unit, property string) string {
	m.t.Helper()
	return strings.TrimSpace(m.as(root, "systemctl", "show", "--value", "--property", property, unit))
}

// journal is what the daemon said.
func (m *machine) journal() string {
	m.t.Helper()
	out := m.as(root, "journalctl", "--unit", "belay.service", "--output", "cat", "--no-pager")
	return out[max(0, len(out)-4000):]
}

// daemon returns the process of the daemon, as the machine counts; 0 where none runs.
func (m *machine) daemon() int {
	m.t.Helper()
	pid, err := strconv.Atoi(m.show("belay.service", "MainPID"))
	m.must(err)
	return pid
}
