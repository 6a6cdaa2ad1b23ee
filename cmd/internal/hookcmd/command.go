package hookcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/phases"
)

// Command is the program belay-hook: `belay eval --runtime` for as long as a daemon
// serves the state directory; with Alone it is belay-eval, which also is that while none does. The
// zero value of a member means the process's own.
type Command struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Getwd    func() (string, error)

	// Alone opens what decides while no daemon serves dir; nil: nothing in this program. What it has an
	// error for, HandOver decides.
	Alone func(ctx context.Context, dir string) (Decider, error)

	// HandOver becomes a program that decides with the arguments, `belay eval` at last, and does not
	// return unless that fails. Nothing has been read from In then.
	HandOver func(args []string) error

	// SystemMode reports whether this machine is in system mode; nil: by the file that says so.
	SystemMode func() bool

	PayloadPatience time.Duration // 0: the constant of this name
	Patience        time.Duration // of the whole; 0: the event's deadline

	word *LastWord
	seen *atomic.Pointer[event]  // the event as far as it is known, for an answer in time
	note *atomic.Pointer[string] // where a note goes; nil: not known yet, or nowhere
}

// Main answers one event and returns the exit status: 0 with a document, or 2
// with text on standard error, as adapters.Answer says. It never panics.
// Without a daemon, and for arguments that Main does not know, belay itself
// takes over: it decides the same, only later.
func (c Command) Main(ctx context.Context, args []string) (code int) {
	c.defaults()
	// The reader of the answer may have gone. That must not end the process by
	// a signal, which runtimes take for a hook without an opinion. To ignore it takes no goroutine.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	a, plain := parse(args)
	ad := Named(a.runtime)
	if ad != nil && !ad.Table().Reads(adapters.FormExit) {
		ad = nil // it starts no commands
	}
	// A process that is told to end, or is late, answers all the same, within its deadline or Grace.
	patience := cmp.Or(c.Patience, Deadline(ad, a.event))
	grace := GraceOf(patience)
	ctx, cancel := context.WithTimeout(ctx, patience-grace)
	defer cancel()
	c.PayloadPatience = min(c.PayloadPatience, patience*2/5)

	e := &event{ad: ad, opts: OptionsFor(ad, a.event, c.Getenv)}
	c.word, c.seen, c.note = new(LastWord), new(atomic.Pointer[event]), new(atomic.Pointer[string])
	if ad != nil {
		c.seen.Store(&event{ad: ad, opts: e.opts})
	}
	code, _ = InTime(ctx, grace, c.word, func() int { return c.work(ctx, a, plain, e, args) }, c.late)
	return code
}

// late answers in place of work that does not end.
func (c *Command) late() int {
	e := c.seen.Load()
	if e == nil {
		return exitBlocked
	}
	f := phases.NewFault(phases.KindDeadline, "belay was told to end, or could not answer in time", nil)
	out := Answered{Answer: e.ad.Failure(e.payload, e.opts, f), Err: f}
	if dir := c.note.Load(); dir != nil {
		if err := NoteInTime(func() error {
			return c.word.Note(func() error { return leaveNote(*dir, e.ad, e.payload, out.Answer, e.opts, f) })
		}); err != nil {
			out.Answer.Notes = append(out.Answer.Notes, "this block is not logged: "+safe(err.Error()))
		}
	}
	return c.tell(e, out)
}

// work answers one event.
func (c *Command) work(ctx context.Context, a arguments, plain bool, e *event, args []string) (code int) {
	ad := e.ad
	defer func() {
		if p := recover(); p != nil {
			f := phases.NewFault(phases.KindProtocol, "belay failed", fmt.Errorf("panic: %v", p))
			code = c.refuse(e, "", f)
		}
	}()
	if ad == nil || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		// Not a word on standard output, which a runtime might take for an answer.
		fmt.Fprintf(c.Err, "%s\nKnown runtimes: %s.\n", usage, strings.Join(RuntimeNames(), ", "))
		return exitBlocked
	}
	if !plain {
		err := c.HandOver(args)
		return c.refuse(c.salvage(ctx, e), "", noBelay("belay-hook does not understand its arguments", err))
	}
	if a.connect != "" {
		// A certificate, and TLS with it, is more than this program links: belay asks that daemon.
		err := c.HandOver(args)
		return c.refuse(c.salvage(ctx, e), "", noBelay("a daemon of another user is asked by belay", err))
	}
	if c.SystemMode() {
		return c.machine(ctx, a, e, args)
	}
	dir, err := StateDir(a.state, c.Getenv, c.Getwd)
	if err != nil {
		return c.refuse(c.salvage(ctx, e), "",
			phases.NewFault(phases.KindLoad, "there is no state directory: give one with --state DIR or $BELAY_HOME", err))
	}
	if mayNote(dir) {
		c.note.Store(&dir)
	}
	// Told to end, it still finds out whether there is a daemon: that says what the note says.
	decider, err := c.decider(context.WithoutCancel(ctx), dir)
	if errors.Is(err, daemonapi.ErrNotRunning) {
		err = c.HandOver(args)
		return c.refuse(c.salvage(ctx, e), dir, noBelay("no daemon serves the state directory", err))
	}
	if err != nil {
		return c.refuse(c.salvage(ctx, e), dir, phases.NewFault(phases.KindLoad, "the daemon could not be asked", err))
	}
	defer decider.Close()
	return c.ask(ctx, e, decider, dir)
}

// decider is the daemon that serves dir or, without one, what this program has for that.
func (c *Command) decider(ctx context.Context, dir string) (Decider, error) {
	daemon, err := dialLocal(ctx, dir)
	if err == nil {
		return daemon, nil
	}
	if c.Alone != nil && errors.Is(err, daemonapi.ErrNotRunning) {
		if host, failed := c.Alone(ctx, dir); failed == nil {
			return host, nil
		}
	}
	return nil, err
}

// ask brings the payload to the daemon; dir is where a note goes when that fails, or "".
func (c *Command) ask(ctx context.Context, e *event, daemon Daemon, dir string) int {
	if err := c.read(ctx, e); err != nil {
		f := Unread(e.ad, err)
		if r, ok := daemon.(Refuser); ok {
			return c.write(e, r.Refuse(context.WithoutCancel(ctx), e.ad, e.payload, e.opts, f))
		}
		return c.refuse(e, dir, f)
	}
	return c.write(e, Ask(ctx, daemon, dir, e.ad, e.payload, e.opts, c.word))
}

const usage = `usage: belay-hook --runtime NAME [--for EVENT] [--state DIR | --connect DIR] < payload
belay-hook is what an agent runtime starts for each of its events. It asks the daemon; while none
serves the state directory, and for other flags, belay eval does the work. With --connect belay eval
asks a daemon of another user, by the url, tls.crt and invoke.token in DIR, and nothing stands in
for it.`

// event is the event as far as it is known.
type event struct {
	ad      adapters.Adapter
	opts    adapters.Options
	payload []byte
	read    bool
}

func (c *Command) defaults() {
	if c.In == nil {
		c.In = os.Stdin
	}
	if c.Out == nil {
		c.Out = os.Stdout
	}
	if c.Err == nil {
		c.Err = os.Stderr
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Getwd == nil {
		c.Getwd = os.Getwd
	}
	if c.SystemMode == nil {
		c.SystemMode = daemonapi.SystemMode
	}
	if c.HandOver == nil {
		c.HandOver = becomeBelay
		if c.Alone == nil {
			c.HandOver = become
		}
	}
	hand := c.HandOver
	c.HandOver = func(args []string) error {
		signal.Reset(syscall.SIGPIPE) // what takes over would inherit that it is ignored
		err := hand(args)
		signal.Ignore(syscall.SIGPIPE)
		return err
	}
	c.PayloadPatience = cmp.Or(c.PayloadPatience, PayloadPatience)
}

func (c *Command) read(ctx context.Context, e *event) (err error) {
	ctx, cancel := context.WithTimeout(ctx, c.PayloadPatience)
	defer cancel()
	e.read = true
	p, err := ReadPayload(ctx, c.In, e.ad)
	e.payload, e.opts.Scan, e.opts.Cut = p.Bytes, p.Scan, p.Cut
	known := *e
	c.seen.Store(&known)
	return err
}

// salvage reads the payload for a failure that came before that: its event's name
// picks the form of the answer, and its session is the one to be held.
func (c *Command) salvage(ctx context.Context, e *event) *event {
	if !e.read {
		_ = c.read(ctx, e) // whatever has come is enough
	}
	return e
}

// refuse answers in the event's block form, with a note in dir where belay has been
// set up there.
func (c *Command) refuse(e *event, dir string, f *phases.Fault) int {
	if dir == "" || !mayNote(dir) {
		return c.write(e, Answered{Answer: e.ad.Failure(e.payload, e.opts, f), Err: f})
	}
	return c.write(e, refuse(c.word, dir, e.ad, e.payload, e.opts, f))
}

// mayNote reports whether a note may go to dir, where belay has been set up. A directory
// of another user would have this one write where it leads to.
func mayNote(dir string) bool {
	fi, err := os.Stat(filepath.Join(dir, "keys"))
	if err != nil {
		return false
	}
	uid, ok := peercred.Owner(fi)
	return ok && uid == os.Geteuid()
}

// write tells operators why there was no decision, and the runtime what to do.
func (c *Command) write(e *event, a Answered) int {
	if !c.word.Take() {
		return exitBlocked // the process has answered
	}
	return c.tell(e, a)
}

func (c *Command) tell(e *event, a Answered) int {
	if a.Err != nil {
		c.say(a.Err)
	}
	for _, n := range a.Answer.Notes {
		fmt.Fprintf(c.Err, "belay-hook: note: %s\n", safe(n))
	}
	return Write(c.Out, c.Err, e.ad, e.payload, e.opts, a.Answer)
}

func (c *Command) say(err error) {
	fmt.Fprintf(c.Err, "belay-hook: %s\n", safe(err.Error()))
	if f := phases.FaultOf(err); f != nil && f.Cause != nil {
		fmt.Fprintf(c.Err, "  %s\n", safe(f.Cause.Error()))
	}
}

// noBelay is the failure of a belay-hook that would have handed over.
func noBelay(why string, err error) *phases.Fault {
	return phases.NewFault(phases.KindLoad, why+", and belay is not there to decide",
		fmt.Errorf("%w: start a daemon with `belay serve`, or install belay beside belay-hook", err))
}
