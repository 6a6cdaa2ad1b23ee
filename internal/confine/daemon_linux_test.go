package confine

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	rights "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// confined is the variable that makes this test program the confined process.
const confined = "BELAY_TEST_CONFINED"

// sleeps is the variable that makes it wait for the end of its input.
const sleeps = "BELAY_TEST_SLEEPS"

func TestMain(m *testing.M) {
	if os.Getenv(sleeps) != "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	if dir := os.Getenv(confined); dir != "" {
		os.Exit(confinedProcess(dir))
	}
	os.Exit(m.Run())
}

func places(dir string) Places {
	return Places{Config: filepath.Join(dir, "etc"), State: filepath.Join(dir, "state"), Run: filepath.Join(dir, "run")}
}

// confinedProcess confines itself, tries what must and what must not work, and prints each surprise.
func confinedProcess(dir string) int {
	p, bad := places(dir), 0
	check := func(what string, works bool, err error) {
		if works && err != nil || !works && !errors.Is(err, fs.ErrPermission) {
			bad++
			os.Stdout.WriteString(what + ": " + errorText(err) + "\n")
		}
	}
	threads := twoThreads() // which are there before Landlock is
	if os.Getenv(confined+"_CHILD") == "" {
		// What listens there is outside of what is confined.
		r, err := Daemon(p)
		if err != nil || r.Landlock < 1 || r.PID != os.Getpid() {
			os.Stdout.WriteString("not confined: " + errorText(err) + "\n")
			return 1
		}
	}
	for _, place := range []string{dir, p.Config, p.Run, "/etc", "/tmp", "/var/tmp", "/usr/local/bin", "/home"} {
		check("make a file in "+place, false, os.WriteFile(filepath.Join(place, "belay-test"), nil, 0o600))
	}
	_, err := os.ReadFile(filepath.Join(dir, "home", "secret"))
	check("read a file of the home", false, err)
	_, err = os.ReadDir(filepath.Join(dir, "home"))
	check("list the home", false, err)
	check("write what may be read", false, os.WriteFile(filepath.Join(p.Config, "system.yaml"), nil, 0o600))
	check("run another program", false, exec.Command("/bin/true").Run())
	check("signal a process outside", os.Getenv("BELAY_TEST_SCOPES") == "", syscall.Kill(os.Getppid(), 0))

	_, err = os.ReadFile(filepath.Join(p.Config, "system.yaml"))
	check("read the configuration", true, err)
	check("write the state", true, os.WriteFile(filepath.Join(p.State, "belay.db"), []byte("x"), 0o600))
	check("move within the state", true,
		os.Rename(filepath.Join(p.State, "belay.db"), filepath.Join(p.State, "users", "belay.db")))
	check("move back", true, os.Rename(filepath.Join(p.State, "users", "belay.db"), filepath.Join(p.State, "belay.db")))
	check("take a file out of the state", false,
		os.Rename(filepath.Join(p.State, "belay.db"), filepath.Join(dir, "belay.db")))
	l, err := net.Listen("unix", filepath.Join(p.State, "s"))
	check("listen in the state", true, err)
	if err == nil {
		c, err := net.Dial("unix", filepath.Join(p.State, "s"))
		check("ask itself", true, err)
		if err == nil {
			c.Close()
		}
		l.Close()
	}
	temp, err := os.MkdirTemp("", "x-")
	check("make a temporary directory", true, err)
	os.Remove(temp)
	for _, name := range []string{"/etc/passwd", "/proc/self/stat", "/proc/sys/kernel/random/boot_id", "/dev/null"} {
		_, err = os.ReadFile(name)
		check("read "+name, true, err)
	}
	if os.Getenv(confined+"_CHILD") == "" {
		check("end on one thread what another one has started", true, endElsewhere(threads))
	}
	if os.Getenv(confined+"_CHILD") == "" { // the compiler is this program, in a process of its own
		child := exec.Command("/proc/self/exe")
		child.Env = append(os.Environ(), confined+"_CHILD=1", "BELAY_TEST_SCOPES=")
		out, err := child.CombinedOutput()
		if err != nil {
			bad++
			os.Stdout.WriteString("its child: " + errorText(err) + "\n" + string(out))
		}
	}
	return bad
}

// twoThreads returns what runs functions on a thread of its own, twice.
func twoThreads() (threads [2]func(func())) {
	for i := range threads {
		work, done := make(chan func()), make(chan bool)
		go func() {
			runtime.LockOSThread()
			for f := range work {
				f()
				done <- true
			}
		}()
		threads[i] = func(f func()) { work <- f; <-done }
		threads[i](func() {})
	}
	return threads
}

// endElsewhere starts a process on the first thread, and ends it on the second one.
func endElsewhere(threads [2]func(func())) (err error) {
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), sleeps+"=1")
	in, _ := child.StdinPipe() // the child ends with it
	defer in.Close()
	threads[0](func() { err = child.Start() })
	if err != nil {
		return err
	}
	threads[1](func() { err = child.Process.Kill() })
	in.Close()
	_ = child.Wait()
	return err
}

func errorText(err error) string {
	if err == nil {
		return "it works"
	}
	return err.Error()
}

func TestDaemonReachesItsPlacesOnly(t *testing.T) {
	version, err := rights.LandlockGetABIVersion()
	if err != nil || version < 3 {
		t.Skip("this kernel has no Landlock, or one that does not know truncation: ", version, " ", err)
	}
	dir := t.TempDir()
	for _, name := range []string{"etc", "state/users", "run", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"etc/system.yaml", "home/secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), confined+"="+dir)
	if version >= 6 {
		cmd.Env = append(cmd.Env, "BELAY_TEST_SCOPES=1")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if strings.Contains(string(out), "not confined") {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "state", "tmp")); err != nil {
		t.Error(err)
	}
}

// A variable of the environment alone does not pass for Landlock.
func TestVariableConfinesNothing(t *testing.T) {
	t.Setenv("TMPDIR", "")
	for _, said := range []string{"7", "0", "x", ""} {
		t.Setenv(started, said)
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
			t.Fatal(err)
		}
		if r, err := Daemon(places(dir)); err == nil || !strings.Contains(err.Error(), started) {
			t.Errorf("%q: %+v, %v", said, r, err)
		}
	}
}
