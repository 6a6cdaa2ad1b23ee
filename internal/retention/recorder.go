package retention

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const (
	queueLength = 256              // invocations that wait to be written; more are lost, and counted
	retryFirst  = time.Second      // after the first failure
	retryMost   = 30 * time.Second // between tries while it fails
)

// Keeper writes recordings into a directory. It is a kernel.Recorder that looks at the
// policy itself, and safe for concurrent use.
//
// Recordings wait in a queue until one goroutine writes them, so that no invocation
// waits for a disk; with Block it is written at once. Encryption is in pieces of 64
// KiB: what was written since the last whole piece is lost in a crash.
type Keeper struct {
	p     Policy
	to    recording.Recipients // nil: plain text
	tools *regexp.Regexp       // nil: all

	gate   sync.RWMutex // held for reading while something is put into the queue
	closed bool         // guarded by gate
	queue  chan *kernel.Recording
	turn   chan struct{}
	stop   chan struct{}
	done   chan struct{}

	kept, lost atomic.Int64
	flooded    atomic.Int64 // of lost: the queue was full, and no file says so yet
	trouble    atomic.Pointer[trouble]

	mu    sync.Mutex // guards what follows, and every write
	file  *file      // nil: none is being written
	next  time.Time  // while there is trouble: not tried again before
	pause time.Duration
	said  int64 // of lost: what is on record
}

// trouble is why nothing can be kept.
type trouble struct {
	err   error
	since time.Time
}

// Open makes a Keeper. Nothing is written before there is something to keep. The error is a *Error.
func Open(p Policy) (*Keeper, error) {
	k := &Keeper{p: p, queue: make(chan *kernel.Recording, queueLength), turn: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{})}
	if k.p.Logger == nil {
		k.p.Logger = slog.New(slog.DiscardHandler)
	}
	if k.p.Notice == nil {
		k.p.Notice = func(string) {}
	}
	for i, r := range p.Recipients {
		to, err := recording.ParseRecipients(r)
		if err != nil {
			return nil, &Error{Pointer: "/recipients/" + strconv.Itoa(i), Text: err.Error()}
		}
		k.to = append(k.to, to...)
	}
	switch {
	case len(k.to) == 0 && !p.Plaintext:
		return nil, &Error{Pointer: "/recipients", Text: "nobody could open what is kept"}
	case len(k.to) > 0 && p.Plaintext:
		return nil, &Error{Pointer: "/unsafe_plaintext", Text: "contradicts recipients"}
	case p.RotateBytes <= 0 || p.Rotate <= 0 || p.Keep <= 0 || p.MaxBytes < 2*p.RotateBytes:
		return nil, &Error{Text: "bounds are missing"}
	}
	if p.Tools != "" {
		var err error
		if k.tools, err = regexp.Compile(p.Tools); err != nil {
			return nil, &Error{Pointer: "/tools", Text: "not an RE2 pattern"}
		}
	}
	go k.run()
	return k, nil
}

// Wants implements kernel.Recorder: it is what the policy says.
func (k *Keeper) Wants(inv *phases.Invocation) bool {
	if len(k.p.Phases) > 0 && !slices.Contains(k.p.Phases, inv.Phase) {
		return false
	}
	if k.tools != nil && (inv.Phase == phases.PreTool || inv.Phase == phases.PostTool) {
		return k.tools.MatchString(inv.Tool())
	}
	return true
}

// Recorded implements kernel.Recorder.
func (k *Keeper) Recorded(r *kernel.Recording) {
	if !k.Wants(&r.Invocation) {
		return
	}
	k.gate.RLock()
	defer k.gate.RUnlock()
	switch {
	case k.closed:
		k.lost.Add(1)
		k.p.Logger.Warn("an invocation that was decided while keeping ended was not kept",
			slog.String("invocation", r.Invocation.ID))
	case k.p.Block:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.write(r)
	default:
		select {
		case k.queue <- r:
		default:
			k.lost.Add(1)
			k.flooded.Add(1)
		}
	}
}

// Ready returns why an invocation that is wanted cannot be kept; while there is trouble
// it tries again. It is asked before the invocation is decided, and only when the
// policy blocks.
func (k *Keeper) Ready(inv *phases.Invocation) error {
	if !k.Wants(inv) {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file != nil {
		return nil
	}
	return k.ensure()
}

// Turn ends the file that is being written, so that it can be used.
func (k *Keeper) Turn() {
	select {
	case k.turn <- struct{}{}:
	default: // it is about to be
	}
}

// Close writes what waits and ends the file.
func (k *Keeper) Close() error {
	k.gate.Lock()
	if k.closed {
		k.gate.Unlock()
		return nil
	}
	k.closed = true
	k.gate.Unlock()
	close(k.stop)
	<-k.done
	if t := k.trouble.Load(); t != nil {
		return t.err
	}
	return nil
}

// run writes what is in the queue, and ends files that are old enough.
func (k *Keeper) run() {
	defer close(k.done)
	tick := time.NewTicker(min(max(k.p.Rotate/10, 50*time.Millisecond), 30*time.Second))
	defer tick.Stop()
	for {
		select {
		case r := <-k.queue:
			k.locked(func() { k.write(r) })
		case <-tick.C:
			k.locked(func() {
				if k.file != nil && time.Since(k.file.begun) >= k.p.Rotate {
					k.finish()
				}
				k.reportLost(false)
			})
		case <-k.turn:
			k.locked(func() { k.drain(); k.finish() })
		case <-k.stop:
			k.locked(func() { k.drain(); k.finish(); k.reportLost(true) })
			return
		}
	}
}

func (k *Keeper) locked(do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
}

// drain writes what waits.
func (k *Keeper) drain() {
	for {
		select {
		case r := <-k.queue:
			k.write(r)
		default:
			return
		}
	}
}

// write adds one invocation to the file. Preconditions, here and below: k.mu is held.
func (k *Keeper) write(r *kernel.Recording) {
	if k.ensure() != nil {
		k.lost.Add(1)
		return
	}
	f := k.file
	f.w.Dropped(int(k.flooded.Swap(0)))
	before := f.w.Runs()
	err := f.w.Record(r)
	switch {
	case f.err() != nil:
		k.lost.Add(1)
		k.cutOff(f.err())
		return
	case err != nil: // it cannot be written down; the file is as it was
		k.lost.Add(1)
		f.w.Dropped(1)
		k.p.Logger.Warn("an invocation could not be kept", slog.String("invocation", r.Invocation.ID), slog.Any("error", err))
	case f.w.Runs() == before: // larger than a recording holds; the file counts it
		k.lost.Add(1)
	default:
		k.kept.Add(1)
	}
	if f.size() >= k.p.RotateBytes || errors.Is(err, recording.ErrLimit) {
		k.finish()
	}
}

// ensure begins a file if there is none. While there is trouble it tries from time
// to time only.
func (k *Keeper) ensure() error {
	if k.file != nil {
		return nil
	}
	t := k.trouble.Load()
	now := time.Now()
	if t != nil && now.Before(k.next) {
		return t.err
	}
	f, err := k.begin(now, t != nil)
	if err != nil {
		k.failed(err)
		return err
	}
	k.file = f
	if t != nil {
		k.trouble.Store(nil)
		lost := k.lost.Load()
		k.notice("full inputs are kept again in %s; %s since %s", k.p.Dir, wereNot(lost-k.said),
			t.since.UTC().Format(time.RFC3339))
		k.said = lost
	}
	return nil
}

func wereNot(n int64) string {
	if n == 1 {
		return "1 invocation was not kept"
	}
	return fmt.Sprintf("%d invocations were not kept", n)
}

// finish ends the file.
func (k *Keeper) finish() {
	f := k.file
	if f == nil {
		return
	}
	f.w.Dropped(int(k.flooded.Swap(0)))
	if err := f.finish(); err != nil {
		k.cutOff(err)
		return
	}
	k.file, k.pause = nil, 0
}

// cutOff gives up the file: what stands in it is readable up to where it was written.
func (k *Keeper) cutOff(err error) {
	f := k.file
	k.file = nil
	name, cerr := f.cut()
	if cerr == nil && name != "" {
		k.notice("a recording was cut off: %s holds what had been written of %d invocations", name, f.w.Runs())
	}
	k.failed(err)
}

// failed says, once, that nothing can be kept.
func (k *Keeper) failed(err error) {
	k.pause = min(max(2*k.pause, retryFirst), retryMost)
	k.next = time.Now().Add(k.pause)
	t := k.trouble.Load()
	if t == nil {
		t = &trouble{since: time.Now()}
		effect := "actions go on without"
		if k.p.Block {
			effect = "actions are blocked until it can"
		}
		k.p.Logger.Error("full inputs cannot be kept", slog.String("dir", k.p.Dir), slog.Any("error", err))
		k.notice("full inputs cannot be kept in %s (%s): %s", k.p.Dir, sink.TroubleOf(err), effect)
	}
	k.trouble.Store(&trouble{err: err, since: t.since})
}

// reportLost puts on record what was lost since it was said last: while there is
// trouble only at the end, because its end says it otherwise.
func (k *Keeper) reportLost(end bool) {
	lost := k.lost.Load()
	if lost == k.said || !end && k.trouble.Load() != nil {
		return
	}
	k.notice("full inputs: %s in %s", wereNot(lost-k.said), k.p.Dir)
	k.said = lost
}

func (k *Keeper) notice(format string, args ...any) { k.p.Notice(fmt.Sprintf(format, args...)) }

// State tries the directory by writing and says how things stand.
func (k *Keeper) State() State {
	st := State{Kept: k.kept.Load(), Lost: k.lost.Load()}
	if t := k.trouble.Load(); t != nil {
		st.Err, st.Since = t.err, t.since
	} else if err := probe(k.p.Dir); err != nil {
		st.Err = err
	}
	list, err := look(k.p.Dir)
	if err != nil && st.Err == nil {
		st.Err = err
	}
	for _, e := range list {
		st.Files, st.Bytes = st.Files+1, st.Bytes+e.size
		if e.state == cutOff {
			st.Cut++
		}
	}
	return st
}
