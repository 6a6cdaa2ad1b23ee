//go:build linux

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a program at a pseudo-terminal, and its output.
type terminal struct {
	t    *testing.T
	ptm  *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	seen bytes.Buffer
	done chan error
}

func openTerminal(t *testing.T, state string, args ...string) *terminal {
	t.Helper()
	ptm, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(ptm.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		t.Fatal(err)
	}
	pts, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pts.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	x := &terminal{t: t, ptm: ptm, done: make(chan error, 1)}
	x.cmd = exec.CommandContext(ctx, exe, args...)
	x.cmd.Args[0] = "belay"
	x.cmd.Env = append(os.Environ(), "BELAY_HOME="+state, "TERM=xterm-256color")
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = pts, pts, pts
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := ptm.Read(buf)
			x.mu.Lock()
			x.seen.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { x.done <- x.cmd.Wait() }()
	t.Cleanup(func() { ptm.Close() })
	return x
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen.String()
}

// expect waits until the program has written all of want, and drops its output
// until then.
func (x *terminal) expect(want ...string) string {
	x.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s := x.text()
		missing := slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(s, w) })
		if !missing {
			x.mu.Lock()
			x.seen.Reset()
			x.mu.Unlock()
			return s
		}
	}
	x.t.Fatalf("%q does not come; there is %q", want, x.text())
	return ""
}

func (x *terminal) send(keys string) {
	x.t.Helper()
	if _, err := x.ptm.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) end() {
	x.t.Helper()
	select {
	case err := <-x.done:
		if err != nil {
			x.t.Errorf("it ends with %v: %q", err, x.text())
		}
	case <-time.After(30 * time.Second):
		x.t.Fatalf("it does not end: %q", x.text())
	}
}

func belay(t *testing.T, state, stdin string, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Args[0] = "belay"
	cmd.Env = append(os.Environ(), "BELAY_HOME="+state)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if e := new(exec.ExitError); err != nil && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 1) {
		t.Fatalf("belay %v: %v %s", args, err, e)
	}
	return string(out)
}

// A person looks through the queue at a terminal, approves one item and denies
// another; hostile text does not reach the terminal.
func TestApprovalsAtATerminal(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	belay(t, state, "", "init")
	belay(t, state, "", "hook", "install", "builtin:ask-push")
	x := openTerminal(t, state, "reviewer", "init", "dev")
	x.expect("Passphrase for the reviewer")
	x.send("correct horse battery\n")
	x.expect("The same again")
	x.send("correct horse battery\n")
	x.expect("registered in belay.yaml")
	x.end()

	ask := func(command string) string {
		return belay(t, state,
			`{"phase":"pre_tool","runtime":"custom","session":"s-1","agent":"coder","action":{"tool":"exec","args":{"command":"`+
				command+`"}}}`, "eval")
	}
	hostile := `git push origin main \u001b[2J\u001b]0;owned\u0007\u202e`
	if got := ask(hostile); !strings.Contains(got, `"decision":"ask"`) {
		t.Fatal(got)
	}
	ask("git push --tags")

	x = openTerminal(t, state, "approvals")
	first := x.expect("git push --tags")
	for _, bad := range []string{"\x1b]0;owned", "\u202e"} {
		if strings.Contains(first, bad) {
			t.Errorf("%q reaches the terminal", bad)
		}
	}
	x.send("j\r") // the newest is on top
	shown := x.expect("ask-push")
	if strings.Contains(shown, "\x1b]0;owned") || strings.Contains(shown, "\u202e") {
		t.Errorf("hostile text reaches the terminal: %q", shown)
	}
	x.send("a")
	x.expect("Approve exactly this?")
	x.send("looked at it\r")
	x.expect("toggle") // it is at the question itself now
	x.send("y")
	x.expect("Passphrase of the reviewer")
	x.send("correct horse battery\n")
	x.expect("Approved for the next time", "git push --tags")
	x.send("\r")
	x.expect("ask-push")
	x.send("d")
	x.expect("Deny this?")
	x.send("no tags\r")
	x.expect("toggle") // it is at the question itself now
	x.send("y")
	x.expect("Passphrase of the reviewer")
	x.send("not the passphrase\n")
	x.expect("does not open the key")
	x.send("q")
	x.end()

	if got := ask(hostile); !strings.Contains(got, `"decision":"allow"`) {
		t.Errorf("approved at the terminal: %s", got)
	}
	if got := ask("git push --tags"); !strings.Contains(got, `"decision":"ask"`) {
		t.Errorf("the denial was not signed: %s", got)
	}
	if got := belay(t, state, "", "approvals", "list", "--all"); !strings.Contains(got, "consumed") ||
		!strings.Contains(got, "pending") {
		t.Error(got)
	}
}
