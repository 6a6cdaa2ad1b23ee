package mcptools

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/lines"
)

// process is a server that was started, in a process group of its own.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	done   chan struct{} // closed when it has been waited for
	once   sync.Once
}

// Time that a server gets to end after its standard input was closed, and after it
// was told to.
const (
	graceInput = 500 * time.Millisecond
	graceTerm  = 500 * time.Millisecond
)

// startProcess starts a command with the given environment only. The text of an
// error is ours: it is shown to hooks.
func startProcess(command, env []string, dir string, says *lines.Writer, log *slog.Logger) (*process, error) {
	if dir == "" {
		dir = "/"
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, errors.New("no pipe for the server")
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		in.Close()
		return nil, errors.New("no pipe for the server")
	}
	p := &process{stdin: in, stdout: out, done: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdin, p.cmd.Stdout = env, dir, theirIn, theirOut
	p.cmd.Stderr = says
	p.cmd.WaitDelay = time.Second // a grandchild may keep standard error open
	p.cmd.SysProcAttr = ownGroup()
	started := make(chan error, 1)
	go func() {
		// The kernel's signal for "your parent died" goes by the thread that started
		// the process: this one stays until the process has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // however it ended
			says.End()
			killGroup(p.cmd.Process.Pid)
		}
		close(p.done)
	}()
	err = <-started
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		log.LogAttrs(context.Background(), slog.LevelError, "an MCP server's command cannot be run", slog.Any("error", err))
		return nil, errors.New("the server's command cannot be run")
	}
	return p, nil
}

// end ends the process and its group, gently if it lets us, and waits for that.
func (p *process) end() {
	p.once.Do(func() {
		p.stdin.Close()
		if !p.waits(graceInput) {
			terminateGroup(p.cmd.Process.Pid)
			if !p.waits(graceTerm) {
				killGroup(p.cmd.Process.Pid)
			}
		}
		p.waits(5 * time.Second)
		p.stdout.Close()
	})
}

func (p *process) waits(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}
