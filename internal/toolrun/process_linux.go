package toolrun

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/internal/confine"
	"github.com/belay-hooks/belay/internal/files"
)

// process is a server that runs, in a process group of its own.
type process struct {
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	done                  chan struct{} // closed when it has been waited for
}

// Time that a server has to end after the end of its input, and after it was told to.
const (
	graceInput = 500 * time.Millisecond
	graceTerm  = 500 * time.Millisecond
	graceKill  = 3 * time.Second
)

// startProgram starts a command, confined, with this environment only. It returns when the program runs, or a refusal.
// Whatever the program starts later is this process's to end, wherever it puts itself.
func startProgram(starter []string, places confine.Server, command, env []string, dir string) (*process, error) {
	if dir == "" {
		dir = "/"
	}
	rules, err := json.Marshal(places, json.Deterministic(true))
	if err != nil {
		return nil, refuse("its paths are no text")
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, refuse("the system does not let its processes be watched: %v", err)
	}
	var ours, theirs []*os.File
	closeAll := func(list []*os.File) {
		for _, f := range list {
			_ = f.Close()
		}
	}
	defer func() { closeAll(theirs) }()
	for i := range 4 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			return nil, refuse("no pipe for the server")
		}
		if i == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	args := append(append(starter[1:len(starter):len(starter)], string(rules)), command...)
	p := &process{cmd: exec.Command(starter[0], args...), stdin: ours[0], stdout: ours[1], stderr: ours[2],
		done: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir = env, dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = theirs[0], theirs[1], theirs[2], theirs[3:]
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		// The kernel's signal for "your parent died" goes by the thread that started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // however it ended
		}
		close(p.done)
	}()
	err = <-started
	closeAll(theirs)
	theirs = nil
	if err == nil {
		err = begun(ours[3])
	}
	_ = ours[3].Close()
	if err != nil {
		if p.cmd.Process != nil {
			p.end()
		}
		closeAll(ours)
		return nil, refuse("its program cannot be run: %v", err)
	}
	return p, nil
}

// begun waits until a starter has become the server.
func begun(report *os.File) error {
	_ = report.SetReadDeadline(time.Now().Add(beginTime))
	said, err := io.ReadAll(io.LimitReader(report, 1<<10))
	why, ready := bytes.CutPrefix(said, []byte(starterReady))
	switch {
	case err != nil:
		return errors.New("it does not begin")
	case len(why) > 0:
		return errors.New(string(why))
	case !ready:
		return errors.New("its process ended before")
	}
	return nil
}

// end ends the process, gently if it lets us, with all that it has started, waits for that, and returns its exit
// status: -1 for a signal, and for one that cannot be ended.
func (p *process) end() (status int) {
	p.stdin.Close()
	if !p.waits(graceInput) {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) // it may be gone already
		if !p.waits(graceTerm) {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			if !p.waits(graceKill) {
				return -1
			}
		}
	}
	sweep()
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) waits(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// sweep kills every process that is left below this one, until there is none. A process whose parent ends becomes this
// process's child, whatever group or session it is in. Preconditions: no other goroutine waits for a child.
func sweep() {
	for end := time.Now().Add(graceKill); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if pid <= 0 && !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
}

// children returns the processes whose parent this one is.
func children() (out []int) {
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	self := []byte(strconv.Itoa(os.Getpid()))
	for _, name := range all {
		stat, err := files.Start(name, 4<<10)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
		if f := bytes.Fields(rest); len(f) < 2 || !bytes.Equal(f[1], self) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// Hold keeps other processes of this user, which are servers, from looking into this one.
func Hold() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
