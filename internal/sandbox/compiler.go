package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrCompiler is the class of errors of a compiler process that did not hand back code:
// it met a limit, died, or answered nonsense. The module is not loaded.
var ErrCompiler = errors.New("module not compiled")

// compiler compiles modules in a process of its own. That process has limits of
// processor time and memory, which an estimate alone cannot give. It hands back
// native code that this process will run: it protects from the costs of
// compiling, and not from an engine that a module makes write wrong code.
type compiler struct {
	program string   // the file to start
	args    []string // with the program's name
	version string   // of the engine
}

// newCompiler checks the command, the program of which has to be named by an absolute
// path: it is started in another directory.
func newCompiler(command []string, version string) (*compiler, error) {
	if !filepath.IsAbs(command[0]) {
		return nil, fmt.Errorf("the compiler command %q is not an absolute path", command[0])
	}
	c := &compiler{program: command[0], args: slices.Clone(command), version: version}
	if own, err := os.Executable(); err == nil && own == command[0] {
		c.args[0] = os.Args[0]
		c.program = cmp.Or(ownProgram(), command[0])
	} else if version == "dev" {
		return nil, errors.New(
			"the engine's version is not known, and so not whether another program's compiler is of the same")
	}
	return c, nil
}

// limits of one compiler process. They lie above the estimates by which a module was let
// in, far enough for a machine that is slower than that of the fit.
type compilerLimits struct {
	cpu  uint32        // seconds of processor time
	data uint64        // bytes of memory that it may write to, the runtime's own included
	wall time.Duration // from start to end
	code int           // bytes of compiled code
}

func (c Class) compilerLimits() compilerLimits {
	if c == Installed {
		return compilerLimits{cpu: 15, data: 1<<30 + runtimeData, wall: time.Minute, code: 128 << 20}
	}
	return compilerLimits{cpu: 4, data: 256<<20 + runtimeData, wall: 20 * time.Second, code: 32 << 20}
}

// runtimeData is what a Go process maps before it does anything, with room to spare.
const runtimeData = 192 << 20

// What goes to the process and comes back begins with a line that says which protocol it
// is in; the answer also says what compiled it, which has to be what runs it.
const (
	compilerAsks    = "belay compile 1\n"
	compilerAnswers = "belay compiled 1\n"
	maxCompilerSays = 4 << 10 // bytes of standard error that are looked at
)

// run has a process compile code, which has funcs functions of its own. Errors are of
// class ErrCompiler, or what ended ctx.
func (c *compiler) run(ctx context.Context, code []byte, funcs int, limits compilerLimits) (*compiledEntry, error) {
	dir, err := os.MkdirTemp("", "belay-compile-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompiler, err)
	}
	defer os.RemoveAll(dir)
	timed, cancel := context.WithTimeout(ctx, limits.wall)
	defer cancel()
	answer, says, err := c.process(timed, dir, request(code, limits), limits)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case timed.Err() != nil:
		return nil, fmt.Errorf("%w: not done after %v", ErrCompiler, limits.wall)
	case err != nil:
		return nil, failed(err, says, limits)
	}
	e, err := readAnswer(answer, limits.code)
	if err != nil {
		return nil, fmt.Errorf("%w: its answer cannot be read: %w", ErrCompiler, err)
	}
	if want := identity(c.version); e.identity != want {
		return nil, fmt.Errorf("%w: it is %q, and this process is %q", ErrCompiler, escape(e.identity, maxReason), want)
	}
	if err := checkEntry(e.content, c.version, funcs); err != nil {
		return nil, fmt.Errorf("%w: its code is refused: %w", ErrCompiler, err)
	}
	return e, nil
}

// process starts the command and returns its answer and its messages.
func (c *compiler) process(ctx context.Context, dir string, ask []byte,
	limits compilerLimits) (answer, says []byte, err error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer ours.Close()
	cmd := exec.CommandContext(ctx, c.program)
	cmd.Args = c.args
	cmd.Dir = dir
	cmd.Env = []string{} // nothing that leads anywhere
	cmd.WaitDelay = time.Second
	out, text := &bounded{most: limits.code + 4096}, &bounded{most: maxCompilerSays, rest: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, out, text
	cmd.SysProcAttr = compilerAttributes()
	// Where a process is told of its parent's end, it is by the end of the thread that
	// started it: that thread must live as long as the process.
	done := make(chan error, 1)
	go func() {
		unlock := holdThread()
		defer unlock()
		if err := cmd.Start(); err != nil {
			theirs.Close()
			done <- err
			return
		}
		theirs.Close()
		go func() {
			// The pipe stays open until the process has ended: its end tells the process
			// that this one is gone.
			_, _ = ours.Write(ask)
		}()
		done <- cmd.Wait()
	}()
	err = <-done
	return out.b.Bytes(), text.b.Bytes(), err
}

// failed says why a process that ended badly did.
func failed(err error, says []byte, limits compilerLimits) error {
	var exit *exec.ExitError
	text := escape(strings.TrimSpace(string(says)), maxReason)
	switch {
	case !errors.As(err, &exit):
		return fmt.Errorf("%w: %w", ErrCompiler, err)
	case !exit.Exited(): // by a signal: this is what the limit of time sends
		spent := (exit.UserTime() + exit.SystemTime()).Round(10 * time.Millisecond)
		return fmt.Errorf("%w: %w after %v of the %d s of processor time that it may take", ErrCompiler, err, spent,
			limits.cpu)
	case bytes.Contains(says, []byte("out of memory")), bytes.Contains(says, []byte("goroutine ")):
		// The runtime ends at once where it gets no more memory, and not always by saying so.
		line, _, _ := bytes.Cut(says, []byte("\n"))
		return fmt.Errorf("%w: it needs more than the %d MiB of memory that it may take, or is broken: %s", ErrCompiler,
			limits.data>>20, escape(string(line), maxReason))
	case text == "":
		return fmt.Errorf("%w: %w", ErrCompiler, err)
	}
	return fmt.Errorf("%w: %w: %s", ErrCompiler, err, text)
}

// bounded keeps so many bytes. More end what writes, or, with rest, are thrown away.
type bounded struct {
	b    bytes.Buffer
	most int
	rest bool
}

func (w *bounded) Write(p []byte) (int, error) {
	room := w.most - w.b.Len()
	if len(p) <= room {
		return w.b.Write(p)
	}
	w.b.Write(p[:room])
	if w.rest {
		return len(p), nil
	}
	return room, io.ErrShortWrite
}
