package systemtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Users of the machine.
const (
	alice  = 1501
	bob    = 1502
	mallet = 1503 // who may not ask
)

// machine is a root directory with belay in system mode.
type machine struct {
	t      *testing.T
	root   string
	daemon *exec.Cmd
	tools  *exec.Cmd // what starts MCP servers
	log    *serverLog
	groups *cgroups // nil: processes stay in the test's own group
}

// inside names the variable that tells a process of a namespace of its own from the first one, and says to it where the
// programs are.
const inside = "BELAY_TEST_NAMESPACE"

// programs returns the directory of the programs, which are built once for all tests.
var programs = sync.OnceValues(func() (string, error) {
	built.Store(true)
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		return "", err
	}
	build := exec.Command(
		"go",
		"build",
		"-trimpath",
		"-o",
		dir,
		"../../belay",
		"../../belay-hook",
		"../../belay-eval",
		"./testdata/try",
		"./testdata/flood",
		"./testdata/probe",
	)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%w: %s", err, out), os.RemoveAll(dir))
	}
	return dir, nil
})

// built: programs was called.
var built atomic.Bool

// TestMain removes the programs at the end.
func TestMain(m *testing.M) {
	code := m.Run()
	if made.Load() > 0 && testing.Verbose() {
		fmt.Printf("%d tries, %d held\n", made.Load(), held.Load())
	}
	if built.Load() {
		if dir, err := programs(); err == nil {
			_ = os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

// inNamespace runs the calling test again as root of a mount namespace of its own. There it returns true, and the test
// goes on; in the first process it returns false when the other has ended, and has reported what failed there.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("system mode is tried as root, with users of its own: run this test as root")
	}
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	self.Env = append(os.Environ(), inside+"="+dir)
	self.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	var all bytes.Buffer
	self.Stdout = &all
	if testing.Verbose() {
		self.Stdout = io.MultiWriter(os.Stdout, &all)
	}
	self.Stderr = self.Stdout
	if err := self.Run(); err != nil {
		t.Error(err)
		if !testing.Verbose() {
			t.Log(all.String())
		}
	}
	made.Add(
		int64(
			bytes.Count(all.Bytes(), []byte("\n"+marked("held"))) + bytes.Count(all.Bytes(), []byte("\n"+marked("FAILED"))),
		),
	)
	held.Add(int64(bytes.Count(all.Bytes(), []byte("\n"+marked("held")))))
	return false
}

// made and held count the tries of all tests, for the line at the end.
var made, held atomic.Int64

// marked begins the line of a try.
func marked(mark string) string { return fmt.Sprintf("  %-6s ", mark) }

// newMachine makes a root directory with users and the programs.
func newMachine(t *testing.T) *machine {
	t.Helper()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("", "machine")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	// Both ends of all connections of a flood are in this test: as many files as the unit of the daemon has.
	limit := syscall.Rlimit{Cur: 65536, Max: 65536}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil { // this root may raise no limit
		_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
		limit.Cur = limit.Max
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
	m := &machine{t: t, root: root, log: new(serverLog)}
	t.Cleanup(func() {
		m.stop(syscall.SIGKILL)
		m.stopTools()
		_ = unix.Unmount(filepath.Join(root, "proc"), unix.MNT_DETACH)
		_ = unix.Unmount(root, unix.MNT_DETACH)
		_ = os.RemoveAll(root)
	})
	for dir, mode := range map[string]os.FileMode{"etc": 0o755, "proc": 0o555, "dev": 0o755, "run": 0o755, "tmp": 0o1777,
		"usr/local/bin": 0o755, "home/alice": 0o700, "home/bob": 0o700, "home/mallet": 0o700, "var/lib": 0o755} {
		m.must(os.MkdirAll(m.path(dir), 0o755))
		m.must(os.Chmod(m.path(dir), mode&0o777))
	}
	m.must(os.Chmod(m.path("tmp"), 0o777|os.ModeSticky))
	m.must(unix.Mount("/proc", m.path("proc"), "", unix.MS_BIND|unix.MS_REC, ""))
	m.must(os.WriteFile(m.path("dev/null"), nil, 0o666))
	m.must(unix.Mount("/dev/null", m.path("dev/null"), "", unix.MS_BIND, ""))
	m.must(os.WriteFile(m.path("etc/passwd"), []byte("root:x:0:0::/root:/bin/sh\n"+
		"alice:x:1501:1501::/home/alice:/bin/sh\nbob:x:1502:1502::/home/bob:/bin/sh\nmallet:x:1503:1503::/home/mallet:/bin/sh\n"),
		0o644))
	m.must(os.WriteFile(m.path("etc/group"), []byte("root:x:0:\nalice:x:1501:\nbob:x:1502:\nmallet:x:1503:\n"), 0o644))
	for user, uid := range map[string]int{"alice": alice, "bob": bob, "mallet": mallet} {
		m.must(os.Chown(m.path("home", user), uid, uid))
	}
	for _, name := range []string{"try", "flood", "probe"} { // the others belay installs
		program, err := os.ReadFile(filepath.Join(os.Getenv(inside), name))
		m.must(err)
		m.must(os.WriteFile(m.path("usr/local/bin", name), program, 0o755))
	}
	return m
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) path(parts ...string) string {
	return filepath.Join(append([]string{m.root}, parts...)...)
}

// install sets belay up as root does.
func (m *machine) install(systemYAML, belayYAML string) {
	m.t.Helper()
	out, err := exec.Command(
		filepath.Join(os.Getenv(inside), "belay"),
		"system",
		"install",
		"--root",
		m.root,
	).CombinedOutput()
	if err != nil {
		m.t.Fatalf("install: %v: %s", err, out)
	}
	m.must(os.WriteFile(m.path("etc/belay/system.yaml"), []byte(systemYAML), 0o644))
	m.must(os.WriteFile(m.path("etc/belay/belay.yaml"), []byte(belayYAML), 0o644))
}

// daemonUID is whom the daemon runs as.
func (m *machine) daemonUID() int {
	m.t.Helper()
	fi, err := os.Lstat(m.path("var/lib/belay"))
	m.must(err)
	return int(fi.Sys().(*syscall.Stat_t).Uid)
}

// start has the sockets opened as systemd does; the first connection starts the daemon.
func (m *machine) start() {
	m.t.Helper()
	m.startWith()
}

// startWith is start with a program in front that starts the daemon in a world of its own.
func (m *machine) startWith(front ...string) {
	m.t.Helper()
	m.must(os.MkdirAll(m.path("run/belay"), 0o755))
	sockets := []string{m.path("run/belay/belay.sock"), m.path("run/belay/frame.sock")}
	var args []string
	for _, s := range sockets {
		_ = os.Remove(s)
		args = append(args, "-l", s)
	}
	uid := m.daemonUID()
	args = append(
		append(args, front...),
		"chroot",
		fmt.Sprintf("--userspec=%d:%d", uid, uid),
		"--groups=",
		m.root,
		"/usr/local/bin/belay",
		"serve",
		"--system",
		"--log",
		"json",
	)
	m.daemon = exec.Command("systemd-socket-activate", args...)
	m.daemon.Stdout, m.daemon.Stderr = m.log, m.log
	m.must(m.groups.start(-1, m.daemon))
	for _, s := range sockets {
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			err := os.Chmod(s, 0o666)
			if err == nil {
				break
			}
			if time.Now().After(end) {
				m.t.Fatalf("%v\n%s", err, m.log)
			}
		}
	}
}

func (m *machine) stop(sig syscall.Signal) {
	if m.daemon == nil {
		return
	}
	_ = m.daemon.Process.Signal(sig)
	_ = m.daemon.Wait()
	m.daemon = nil
}

// inRoot is a command of a user in the machine's root directory.
func (m *machine) inRoot(uid int, name string, args ...string) *exec.Cmd {
	home := map[int]string{0: "/", alice: "/home/alice", bob: "/home/bob", mallet: "/home/mallet"}[uid]
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root,
		Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	return cmd
}

// as runs a command as a user, and returns what it printed and its exit status.
func (m *machine) as(uid int, stdin, name string, args ...string) (out, errs string, code int) {
	m.t.Helper()
	return m.with(uid, nil, stdin, name, args...)
}

func (m *machine) with(uid int, env []string, stdin, name string, args ...string) (out, errs string, code int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 60*time.Second)
	defer cancel()
	cmd := m.inRoot(uid, name, args...)
	cmd.Env = append(cmd.Env, env...)
	var o, e bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &o, &e
	m.must(m.groups.start(uid, cmd))
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// try has a user do one thing to a file or process, and returns why that failed. A program does it whose answer is the
// number of the error: a shell's words differ.
func (m *machine) try(uid int, args ...string) error {
	m.t.Helper()
	out, errs, code := m.as(uid, "", "/usr/local/bin/try", args...)
	n, err := strconv.Atoi(strings.TrimSpace(out))
	switch {
	case code != 0 || err != nil:
		return errors.New(out + errs)
	case n == 0:
		return nil
	}
	return syscall.Errno(n)
}
