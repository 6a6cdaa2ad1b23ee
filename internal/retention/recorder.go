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

// Recorder writes recordings into a directory. It is a kernel.Recorder that looks at the
// policy itself, and safe for concurrent use.
//
// Recordings wait in a queue until one goroutine writes them, so that no invocation
// waits for a disk; with Block it is written at once. Encryption is in pieces of 64
// KiB: a crash loses the bytes since the last complete piece.
type Recorder struct {
	policy Policy
	to     recording.Recipients // nil: plain text
	tools  *regexp.Regexp       // nil: all

	gate   sync.RWMutex // held for reading while something is put into the queue
	closed bool         // guarded by gate
	queue  chan *kernel.Recording
	turn   chan struct{}
	stop   chan struct{}
	done   chan struct{}

	kept, lost atomic.Int64
	flooded    atomic.Int64 // of lost: the queue was full, and no file says so yet
	trouble    atomic.Pointer[trouble]

	mu    sync.Mutex // guards the members below, and every write
	file  *file      // nil: none is being written
	next  time.Time  // while there is trouble: not tried again before
	pause time.Duration
	said  int64 // of lost: reported in a notice
}

// trouble is why no input can be retained.
type trouble struct {
	err   error
	since time.Time
}

// Open makes a Recorder, which writes nothing before the first input. The error is a *Error.
func Open(p Policy) (*Recorder, error) {
	rec := &Recorder{policy: p, queue: make(chan *kernel.Recording, queueLength), turn: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{})}
	if rec.policy.Logger == nil {
		rec.policy.Logger = slog.New(slog.DiscardHandler)
	}
	if rec.policy.Notice == nil {
		rec.policy.Notice = func(string) {}
	}
	for i, r := range p.Recipients {
		to, err := recording.ParseRecipients(r)
		if err != nil {
			return nil, &Error{Pointer: "/recipients/" + strconv.Itoa(i), Text: err.Error()}
		}
		rec.to = append(rec.to, to...)
	}
	switch {
	case len(rec.to) == 0 && !p.Plaintext:
		return nil, &Error{Pointer: "/recipients", Text: "no key could open what is retained"}
	case len(rec.to) > 0 && p.Plaintext:
		return nil, &Error{Pointer: "/unsafe_plaintext", Text: "contradicts recipients"}
	case p.RotateBytes <= 0 || p.Rotate <= 0 || p.Keep <= 0 || p.MaxBytes < 2*p.RotateBytes:
		return nil, &Error{Text: "bounds are missing"}
	}
	if p.Tools != "" {
		var err error
		if rec.tools, err = regexp.Compile(p.Tools); err != nil {
			return nil, &Error{Pointer: "/tools", Text: "not an RE2 pattern"}
		}
	}
	go rec.run()
	return rec, nil
}

// Wants implements kernel.Recorder, by the policy.
func (rec *Recorder) Wants(inv *phases.Invocation) bool {
	if len(rec.policy.Phases) > 0 && !slices.Contains(rec.policy.Phases, inv.Phase) {
		return false
	}
	if rec.tools != nil && (inv.Phase == phases.PreTool || inv.Phase == phases.PostTool) {
		return slices.ContainsFunc(inv.ToolNames(), rec.tools.MatchString)
	}
	return true
}

// Recorded implements kernel.Recorder.
func (rec *Recorder) Recorded(r *kernel.Recording) {
	if !rec.Wants(&r.Invocation) {
		return
	}
	rec.gate.RLock()
	defer rec.gate.RUnlock()
	switch {
	case rec.closed:
		rec.lost.Add(1)
		rec.policy.Logger.Warn("an invocation that was decided while keeping ended was not kept",
			slog.String("invocation", r.Invocation.ID))
	case rec.policy.Block:
		rec.mu.Lock()
		defer rec.mu.Unlock()
		rec.write(r)
	default:
		select {
		case rec.queue <- r:
		default:
			rec.lost.Add(1)
			rec.flooded.Add(1)
		}
	}
}

// Ready returns why a wanted invocation cannot be retained; while there is trouble it tries
// again. The kernel asks before it decides the invocation, and only when the policy blocks.
func (rec *Recorder) Ready(inv *phases.Invocation) error {
	if !rec.Wants(inv) {
		return nil
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.file != nil {
		return nil
	}
	return rec.ensure()
}

// Turn ends the file that is being written, so that it can be used.
func (rec *Recorder) Turn() {
	select {
	case rec.turn <- struct{}{}:
	default: // it is about to be
	}
}

// Close writes the queue and ends the file.
func (rec *Recorder) Close() error {
	rec.gate.Lock()
	if rec.closed {
		rec.gate.Unlock()
		return nil
	}
	rec.closed = true
	rec.gate.Unlock()
	close(rec.stop)
	<-rec.done
	if t := rec.trouble.Load(); t != nil {
		return t.err
	}
	return nil
}

// run writes the queue, and ends files that are old enough.
func (rec *Recorder) run() {
	defer close(rec.done)
	tick := time.NewTicker(min(max(rec.policy.Rotate/10, 50*time.Millisecond), 30*time.Second))
	defer tick.Stop()
	for {
		select {
		case r := <-rec.queue:
			rec.locked(func() { rec.write(r) })
		case <-tick.C:
			rec.locked(func() {
				if rec.file != nil && time.Since(rec.file.begun) >= rec.policy.Rotate {
					rec.finish()
				}
				rec.reportLost(false)
			})
		case <-rec.turn:
			rec.locked(func() { rec.drain(); rec.finish() })
		case <-rec.stop:
			rec.locked(func() { rec.drain(); rec.finish(); rec.reportLost(true) })
			return
		}
	}
}

func (rec *Recorder) locked(do func()) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	do()
}

// drain writes the queue.
func (rec *Recorder) drain() {
	for {
		select {
		case r := <-rec.queue:
			rec.write(r)
		default:
			return
		}
	}
}

// write adds one invocation to the file. Preconditions, here and below: rec.mu is held.
func (rec *Recorder) write(r *kernel.Recording) {
	if rec.ensure() != nil {
		rec.lost.Add(1)
		return
	}
	f := rec.file
	f.w.Dropped(int(rec.flooded.Swap(0)))
	before := f.w.Runs()
	err := f.w.Record(r)
	switch {
	case f.err() != nil:
		rec.lost.Add(1)
		rec.cutOff(f.err())
		return
	case err != nil: // it cannot be written down; the file is as it was
		rec.lost.Add(1)
		f.w.Dropped(1)
		rec.policy.Logger.Warn("an invocation could not be kept", slog.String("invocation", r.Invocation.ID),
			slog.Any("error", err))
	case f.w.Runs() == before: // larger than a recording holds; the file counts it
		rec.lost.Add(1)
	default:
		rec.kept.Add(1)
	}
	if f.size() >= rec.policy.RotateBytes || errors.Is(err, recording.ErrLimit) {
		rec.finish()
	}
}

// ensure begins a file if there is none. While there is trouble it tries from time
// to time only.
func (rec *Recorder) ensure() error {
	if rec.file != nil {
		return nil
	}
	t := rec.trouble.Load()
	now := time.Now()
	if t != nil && now.Before(rec.next) {
		return t.err
	}
	f, err := rec.begin(now, t != nil)
	if err != nil {
		rec.failed(err)
		return err
	}
	rec.file = f
	if t != nil {
		rec.trouble.Store(nil)
		lost := rec.lost.Load()
		rec.notice("full inputs are kept again in %s; %s since %s", rec.policy.Dir, wereNot(lost-rec.said),
			t.since.UTC().Format(time.RFC3339))
		rec.said = lost
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
func (rec *Recorder) finish() {
	f := rec.file
	if f == nil {
		return
	}
	f.w.Dropped(int(rec.flooded.Swap(0)))
	if err := f.finish(); err != nil {
		rec.cutOff(err)
		return
	}
	rec.file, rec.pause = nil, 0
}

// cutOff gives up the file, which can be read as far as it was written.
func (rec *Recorder) cutOff(err error) {
	f := rec.file
	rec.file = nil
	name, cerr := f.cut()
	if cerr == nil && name != "" {
		rec.notice("a recording was cut off: %s holds what had been written of %d invocations", name, f.w.Runs())
	}
	rec.failed(err)
}

// failed reports, once, that no input can be retained.
func (rec *Recorder) failed(err error) {
	rec.pause = min(max(2*rec.pause, retryFirst), retryMost)
	rec.next = time.Now().Add(rec.pause)
	t := rec.trouble.Load()
	if t == nil {
		t = &trouble{since: time.Now()}
		effect := "actions go on without"
		if rec.policy.Block {
			effect = "actions are blocked until it can"
		}
		rec.policy.Logger.Error("full inputs cannot be kept", slog.String("dir", rec.policy.Dir), slog.Any("error", err))
		rec.notice("full inputs cannot be kept in %s (%s): %s", rec.policy.Dir, sink.TroubleOf(err), effect)
	}
	rec.trouble.Store(&trouble{err: err, since: t.since})
}

// reportLost logs how many inputs were lost since the last report. While there is trouble
// it does so only at the end, because the end of trouble reports them, too.
func (rec *Recorder) reportLost(end bool) {
	lost := rec.lost.Load()
	if lost == rec.said || !end && rec.trouble.Load() != nil {
		return
	}
	rec.notice("full inputs: %s in %s", wereNot(lost-rec.said), rec.policy.Dir)
	rec.said = lost
}

func (rec *Recorder) notice(format string, args ...any) {
	rec.policy.Notice(fmt.Sprintf(format, args...))
}

// State tries the directory by writing and says how things stand.
func (rec *Recorder) State() State {
	st := State{Kept: rec.kept.Load(), Lost: rec.lost.Load()}
	if t := rec.trouble.Load(); t != nil {
		st.Err, st.Since = t.err, t.since
	} else if err := probe(rec.policy.Dir); err != nil {
		st.Err = err
	}
	list, err := look(rec.policy.Dir)
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
