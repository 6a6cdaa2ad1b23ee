//go:build agents

package agents_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// machineStage is the variable by which the tests are run on a machine in system mode: a root directory of their own,
// with belay under its own user and the clients as other users. Its value says how far that is: "make" of the process
// that the script starts, "mount" of the one in namespaces of its own, "inside" of the one that runs the tests.
const machineStage = "BELAY_AGENTS_MACHINE"

// Users of the machine who have agents.
const (
	alice = 1501
	bob   = 1502
)

// machined: the tests run on a machine in system mode, at that level alone.
func machined() bool { return os.Getenv(machineStage) == "inside" }

// Where the machine has what the tests bring along.
const (
	programsOf = "/opt/belay"   // belay's programs, to install from
	clientsOf  = "/opt/clients" // the clients
	sourceOf   = "/opt/source"  // this repository
	testsOf    = "/opt/agents.test"
	resultsOf  = "/opt/results"
)

// onMachine runs this program again, on a machine of its own, and returns its exit status.
func onMachine() (int, error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("system mode is tried as root, with users of its own: run this as root")
	}
	// A log of the files that a test opens has no place there.
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool {
		return strings.HasPrefix(a, "-test.testlogfile=")
	})
	next := exec.Command(os.Args[0], args...)
	switch os.Getenv(machineStage) {
	case "make":
		// Processes that a test leaves behind end with the namespace, and so do the mounts.
		next.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Cloneflags: unix.CLONE_NEWPID,
			Pdeathsig: syscall.SIGKILL}
		next.Env = append(os.Environ(), machineStage+"=mount")
	default:
		root, err := mountMachine()
		if err != nil {
			return 0, err
		}
		next.Path, next.Dir = testsOf, sourceOf+"/internal/agents"
		next.Args[0] = testsOf
		next.Env = insideEnv()
		if err := enter(root); err != nil {
			return 0, err
		}
	}
	next.Stdin, next.Stdout, next.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := next.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// insideEnv is the environment of the tests on the machine: the variables of the script, with their paths there.
func insideEnv() []string {
	env := []string{machineStage + "=inside", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root",
		"BELAY_BIN=" + programsOf}
	cache := os.Getenv("BELAY_AGENTS_CLIENTS")
	for _, name := range []string{"BELAY_CLAUDE", "BELAY_CODEX", "BELAY_GEMINI", "BELAY_OPENCODE", "BELAY_MCP"} {
		env = append(env, name+"="+strings.ReplaceAll(os.Getenv(name), cache, clientsOf))
	}
	if os.Getenv("BELAY_AGENTS_RESULTS") != "" {
		env = append(env, "BELAY_AGENTS_RESULTS="+resultsOf)
	}
	return env
}

// mountMachine makes the root directory of the machine: this one's programs and libraries, and everything else its own.
func mountMachine() (root string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("mounts of its own: %w", err)
	}
	root = os.Getenv("BELAY_AGENTS_ROOT")
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=0755"); err != nil {
		return "", fmt.Errorf("%s: %w", root, err)
	}
	in := func(path string) string { return filepath.Join(root, path) }
	for dir, mode := range map[string]fs.FileMode{"/usr": 0o755, "/dev": 0o755, "/proc": 0o555, "/sys": 0o555,
		"/run": 0o755, "/tmp": 0o777 | fs.ModeSticky, "/var/tmp": 0o777 | fs.ModeSticky, "/var/lib": 0o755,
		"/root": 0o700, "/home": 0o755, programsOf: 0o755, clientsOf: 0o755, sourceOf: 0o755, resultsOf: 0o755} {
		err = errors.Join(err, os.MkdirAll(in(dir), 0o755), os.Chmod(in(dir), mode))
	}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64"} {
		if to, linked := os.Readlink(dir); linked == nil {
			err = errors.Join(err, os.Symlink(to, in(dir)))
		} else if _, there := os.Stat(dir); there == nil {
			err = errors.Join(err, os.Mkdir(in(dir), 0o755), unix.Mount(dir, in(dir), "", unix.MS_BIND, ""))
		}
	}
	type bind struct{ from, to string }
	binds := []bind{{"/usr", "/usr"}, {"/dev", "/dev"}, {"/sys", "/sys"}, {os.Getenv("BELAY_BIN"), programsOf},
		{os.Getenv("BELAY_AGENTS_CLIENTS"), clientsOf}, {os.Getenv("BELAY_AGENTS_SOURCE"), sourceOf}}
	if results := os.Getenv("BELAY_AGENTS_RESULTS"); results != "" {
		binds = append(binds, bind{results, resultsOf})
	}
	for _, b := range binds {
		if e := unix.Mount(b.from, in(b.to), "", unix.MS_BIND|unix.MS_REC, ""); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", b.from, e))
		}
	}
	err = errors.Join(err, unix.Mount("proc", in("/proc"), "proc", 0, ""),
		unix.Mount("tmpfs", in("/usr/local/bin"), "tmpfs", 0, "mode=0755"))
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("cp", "-a", "/etc", in("/etc")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("/etc: %w: %s", err, out)
	}
	if out, err := exec.Command("cp", os.Args[0], in(testsOf)).CombinedOutput(); err != nil {
		return "", fmt.Errorf("the tests: %w: %s", err, out)
	}
	for _, dir := range append(managedDirs(), "/etc/belay") {
		err = errors.Join(err, os.RemoveAll(in(dir)))
	}
	const users = "alice:x:1501:1501::/home/alice:/bin/bash\nbob:x:1502:1502::/home/bob:/bin/bash\n"
	return root, errors.Join(err, addUsers(in("/etc/passwd"), users),
		addUsers(in("/etc/group"), "alice:x:1501:\nbob:x:1502:\n"))
}

// enter makes root the root directory of this process. A chroot would not do: there no user may have a namespace, and
// the sandbox of Codex needs one.
func enter(root string) error {
	const before = "/before"
	err := os.Mkdir(filepath.Join(root, before), 0o700)
	if err == nil {
		err = unix.PivotRoot(root, filepath.Join(root, before))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", root, err)
	}
	return errors.Join(os.Chdir("/"), unix.Unmount(before, unix.MNT_DETACH), os.Remove(before))
}

// managedDirs are those of managed settings.
func managedDirs() []string {
	return []string{"/etc/claude-code", "/etc/codex", "/etc/gemini-cli", "/etc/opencode"}
}

// addUsers adds lines to a table of accounts, in the place of others with these numbers.
func addUsers(file, lines string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(src)) {
		if f := strings.Split(line, ":"); len(f) < 3 || f[2] != "1501" && f[2] != "1502" {
			kept.WriteString(line)
		}
	}
	return os.WriteFile(file, []byte(kept.String()+lines), 0o644)
}
