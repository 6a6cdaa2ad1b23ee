package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// tooLate is why an action is blocked by a process that has to end before it has decided.
func tooLate() *phases.Fault {
	return phases.NewFault(phases.KindDeadline, "belay was told to end, or could not answer in time", nil)
}

// lateCall answers a runtime in place of work that does not end.
type lateCall struct {
	app  *App
	ad   adapters.Adapter
	args []string
	out  io.Writer
	seen atomic.Pointer[runtimeCall] // the payload as far as it is known; not changed
}

// answer gives the event's block form, and leaves a note of it.
func (l *lateCall) answer() int {
	call, f := l.seen.Load(), tooLate()
	ans := l.ad.Failure(call.payload, call.opts, f)
	r := kernel.Refusal{Invocation: phases.Invocation{Runtime: l.ad.Runtime(), Session: ans.Session}, Fault: f,
		Unblockable: call.opts.NeedsLatch(ans), Unread: true}
	if r.Unblockable {
		var err error
		if r.Of, err = adapters.Invocations(l.ad, call.payload, call.opts); err != nil {
			r.Why = phases.LatchPayload
		}
	}
	l.app.noteLate(l.args, r)
	ans.Stderr = redact.Label(ans.Stderr) // a reason may quote the payload
	return hookcmd.Write(l.out, l.app.Err, l.ad, call.payload, call.opts, ans)
}

// late says that eval has to end before it has decided. A runtime that reads no
// verdict does not go on; the undecided action is noted as blocked.
func (a *App) late(args []string) int {
	var inv phases.Invocation // stays empty where belay hung before it had read one
	if src := a.now.Load(); src != nil {
		if in, err := phases.DecodeInvocation(*src); err == nil {
			inv = in
		}
	}
	a.noteLate(args, kernel.Refusal{Invocation: inv, Raw: inv.Action, Fault: tooLate()})
	fmt.Fprintf(a.Err, "belay: %s\n  The action counts as blocked.\n", tooLate().Text)
	return ExitError
}

// noteLate leaves a note for the process that opens the state directory next.
func (a *App) noteLate(args []string, r kernel.Refusal) {
	dir, err := hookcmd.StateDir(valueOf(args, "--state"), a.Getenv, a.Getwd)
	if _, elsewhere := lookup(args, "--connect"); elsewhere || err != nil {
		return
	}
	err = hookcmd.NoteInTime(func() error {
		if _, err := os.Stat(filepath.Join(dir, "keys")); err != nil {
			return nil // belay has not been set up there
		}
		return a.word.Note(func() error { return belay.Spool(dir, r) })
	})
	if err != nil {
		fmt.Fprintf(a.Err, "belay: this block is not logged: %s\n", safe(err.Error()))
	}
}
