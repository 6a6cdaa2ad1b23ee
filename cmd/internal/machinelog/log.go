package machinelog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/front"
	"github.com/belay-hooks/belay/internal/every"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/internal/tally"
	"github.com/belay-hooks/belay/kernel"
)

// Host is the state directory of the log, such as *belay.Belay. Safe for concurrent use.
type Host interface {
	NoteAccess(ctx context.Context, a kernel.Access) error
	NoteMachine(ctx context.Context, decision, reason string, n kernel.MachineNote) error
	Status(ctx context.Context) (wire.Status, error)
	Close() error
}

// Options are what a log needs; all but Open may be left out.
type Options struct {
	Open     func(ctx context.Context) (Host, error)
	Name     func(uid int) string // of a user; nil: none is known
	Version  string               // of the program
	PID      int
	Revision string // of system.yaml at the start
	// Trouble is told why nothing can be written, or the log is not in order, and "" when that is over.
	Trouble func(why string)
	Logger  *slog.Logger  // nil discards
	Retry   time.Duration // after a failure; default 1 s
	Look    time.Duration // how often the health of the state directory is looked at; default 5 s
	Last    time.Duration // for what is left at the end; default 5 s
}

// maxNotes is how many notices wait while nothing can be written.
const maxNotes = 32

// note is a notice that waits.
type note struct {
	decision, reason string
	kernel.MachineNote
}

// Log is safe for concurrent use. Nothing but Run waits for the disk.
type Log struct {
	o     Options
	tally *tally.Tally
	wake  chan struct{}

	telling sync.Mutex // one call of Trouble at a time, in order

	mu       sync.Mutex
	host     Host   // nil: it cannot be opened yet
	writing  string // why the last write failed
	health   string // why the state directory is not healthy
	notes    []note
	revision string // of system.yaml, the last one that was believed
	unsound  string // why it cannot be believed now
	held     map[int]bool
	refused  map[string]int64 // by code
}

// New returns a log to which everything may be told at once. Run writes it.
func New(o Options) *Log {
	o.Retry, o.Look, o.Last = cmp.Or(o.Retry, time.Second), cmp.Or(o.Look, 5*time.Second), cmp.Or(o.Last, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Log{o: o, wake: make(chan struct{}, 1), held: map[int]bool{}, refused: map[string]int64{}, revision: o.Revision}
	l.notes = []note{{kernel.DecisionStarted, "the daemon has started: belay " + o.Version,
		kernel.MachineNote{Version: o.Version, PID: o.PID, Revision: o.Revision}}}
	l.tally = tally.New(tally.Options{Write: l.writeAccess, Retry: o.Retry, Last: o.Last})
	return l
}

// Run writes until ctx ends, then what is left and that the daemon stops. It closes the host.
func (l *Log) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { l.tally.Run(ctx) })
	all.Go(func() { every.Do(ctx, l.o.Look, l.o.Look, l.look) })
	for ctx.Err() == nil {
		wait := l.o.Look
		if err := l.writeNotes(ctx); err != nil {
			wait = l.o.Retry
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-l.wake:
		}
		timer.Stop()
	}
	all.Wait()
	l.add(note{kernel.DecisionStopped, "the daemon stops", kernel.MachineNote{Version: l.o.Version, PID: l.o.PID}})
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.o.Last)
	defer cancel()
	_ = l.writeNotes(last) // it is told as trouble
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host != nil {
		if err := l.host.Close(); err != nil {
			l.o.Logger.LogAttrs(last, slog.LevelError, "the machine's log could not be closed", slog.Any("error", err))
		}
		l.host = nil
	}
}

// writeNotes writes the notices that wait, and opens the state directory before.
func (l *Log) writeNotes(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.host == nil {
			l.mu.Unlock()
			host, err := l.o.Open(ctx)
			if err != nil {
				return l.wrote(ctx, err)
			}
			l.mu.Lock()
			l.host = host
		}
		if len(l.notes) == 0 {
			l.mu.Unlock()
			return nil
		}
		n, host := l.notes[0], l.host
		l.mu.Unlock()
		err := host.NoteMachine(ctx, n.decision, n.reason, n.MachineNote)
		if l.wrote(ctx, err) != nil {
			return err
		}
		l.mu.Lock()
		l.notes = l.notes[1:]
		l.mu.Unlock()
	}
}

var errNotOpen = errors.New("the machine's log is not open")

// writeAccess makes an event of what callers did.
func (l *Log) writeAccess(ctx context.Context, c tally.Count) error {
	l.mu.Lock()
	host := l.host
	l.mu.Unlock()
	if host == nil {
		return errNotOpen // writeNotes opens it
	}
	decision := wire.AccessRefused
	switch c.Code {
	case wire.AccessBegan, wire.AccessHeld, wire.AccessServed:
		decision = c.Code
	}
	a := kernel.Access{Decision: decision, Reason: c.Text, Facts: wire.Access{Code: c.Code, UID: c.UID, Socket: c.Where,
		Count: c.N, Since: c.Since.UTC(), Users: c.Users}}
	if c.UID >= 0 && l.o.Name != nil {
		a.User = l.o.Name(c.UID)
	}
	return l.wrote(ctx, host.NoteAccess(ctx, a))
}

// look finds out whether the log could be written, also while there is nothing to write.
func (l *Log) look(ctx context.Context) bool {
	l.mu.Lock()
	host := l.host
	l.mu.Unlock()
	if host == nil {
		return true
	}
	status, err := host.Status(ctx)
	if err == nil && !status.Healthy {
		err = errors.New("it is not healthy")
		if len(status.Problems) > 0 {
			err = errors.New(status.Problems[0])
		}
	}
	if ctx.Err() == nil {
		l.tell(ctx, &l.health, err)
	}
	return true
}

// wrote takes note of whether something could be written, and returns the error. One that is cut off since the log ends
// says nothing of it.
func (l *Log) wrote(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		l.tell(ctx, &l.writing, err)
	}
	return err
}

// tell takes note of one way to know how the log stands. A write that succeeds does not make a state directory healthy.
func (l *Log) tell(ctx context.Context, of *string, err error) {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.mu.Lock()
	before := l.problem()
	*of = ""
	if err != nil {
		*of = err.Error()
	}
	now := l.problem()
	l.mu.Unlock()
	switch {
	case (before == "") == (now == ""):
		return
	case now != "":
		l.o.Logger.LogAttrs(ctx, slog.LevelError, "the machine's log is not in order: refused callers are counted until they can be written",
			slog.String("error", now))
	default:
		l.o.Logger.LogAttrs(ctx, slog.LevelInfo, "the machine's log is in order again")
	}
	if l.o.Trouble != nil {
		l.o.Trouble(now)
	}
}

// Problem says why nothing can be written, or the log is not in order, or "".
func (l *Log) Problem() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problem()
}

// problem is what Problem says. Preconditions: l.mu is held.
func (l *Log) problem() string { return cmp.Or(l.writing, l.health) }

// add has a notice wait. Of too many the newest takes the place of the one before it.
func (l *Log) add(n note) {
	l.mu.Lock()
	if len(l.notes) >= maxNotes {
		l.notes = l.notes[:maxNotes-1]
	}
	l.notes = append(l.notes, n)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Refused counts a caller that was refused.
func (l *Log) Refused(r front.Refusal) {
	l.mu.Lock()
	l.refused[r.Code]++
	l.mu.Unlock()
	l.tally.Add(tally.Key{UID: r.UID, Code: r.Code, Where: r.Socket}, r.Why)
}

// Refusals says how many callers were refused so far, by code. For metrics.
func (l *Log) Refusals() map[string]int64 {
	out := map[string]int64{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, code := range front.Codes() {
		out[code] = l.refused[code]
	}
	return out
}

// Began says that a state directory is made for a user.
func (l *Log) Began(uid int) {
	l.tally.Add(tally.Key{UID: uid, Code: wire.AccessBegan}, "a state directory is made for this user")
}

// Held says that a user is not served any more.
func (l *Log) Held(uid int, why error) {
	l.mu.Lock()
	l.held[uid] = true
	l.mu.Unlock()
	l.tally.Add(tally.Key{UID: uid, Code: wire.AccessHeld}, why.Error())
}

// Served says that a user is served. It is told of those who were held.
func (l *Log) Served(uid int) {
	l.mu.Lock()
	held := l.held[uid]
	delete(l.held, uid)
	l.mu.Unlock()
	if held {
		l.tally.Add(tally.Key{UID: uid, Code: wire.AccessServed}, "this user is served again")
	}
}

// Believes tells what system.yaml says now, or why it cannot be believed. Only a change is an event.
func (l *Log) Believes(config *system.Config, err error) {
	l.mu.Lock()
	before, revision, unsound := l.revision, l.revision, ""
	wasUnsound := l.unsound
	if err != nil {
		unsound = err.Error()
	} else {
		revision = config.Revision
	}
	l.revision, l.unsound = revision, unsound
	l.mu.Unlock()
	n := kernel.MachineNote{Revision: revision}
	if before != revision {
		n.Before = before
	}
	switch {
	case err != nil && unsound != wasUnsound:
		n.Revision = ""
		l.add(note{kernel.DecisionNotBelieved, "every caller is refused: " + unsound, n})
	case err == nil && wasUnsound != "":
		l.add(note{kernel.DecisionBelieved, "system.yaml is believed again", n})
	case err == nil && before != revision:
		l.add(note{kernel.DecisionBelieved, "system.yaml has changed", n})
	}
}
