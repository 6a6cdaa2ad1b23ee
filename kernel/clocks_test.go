package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

const year = 365 * 24 * time.Hour

// set sets the wall clock, and not that of the boot.
func (b *boot) set(by time.Duration) {
	b.skew.Add(int64(by))
	b.clock.add(by)
}

// jumps are the changes of the wall clock between a question, its answer and its use.
func jumps() (out [][3]time.Duration) {
	for _, a := range []time.Duration{-year, 0, year} {
		for _, b := range []time.Duration{-year, 0, year} {
			for _, c := range []time.Duration{-year, 0, year} {
				out = append(out, [3]time.Duration{a, b, c})
			}
		}
	}
	return out
}

// A question waits as long as was promised, and a decision holds as long as it was signed for,
// to the millisecond: whatever the wall clock is set to meanwhile.
func TestJumpsEndNoApproval(t *testing.T) {
	const life = queue.DefaultTimeout
	for _, j := range jumps() {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(j, late), func(t *testing.T) {
				last := time.Millisecond // times of decisions are whole ones
				if late {
					last = 0
				}
				var b boot
				h := newHost(t, asking(), reviewed, onBoot(&b))
				exec := invocation(phases.PreTool)

				// It waits to be decided.
				b.set(j[0])
				undecided := h.pending(t, exec)
				b.set(j[1])
				h.clock.add(life - last)
				b.set(j[2])
				want := map[bool]error{false: nil, true: approvals.ErrExpired}[late]
				if err := h.decide(t, undecided, approvals.Approve, reviewerKey(1)); !errors.Is(err, want) &&
					!(late && errors.Is(err, approvals.ErrDecided)) {
					t.Fatalf("decided: %v, want %v", err, want)
				}

				// It was approved, and waits to be used.
				id := h.pending(t, otherExec())
				b.set(j[0])
				if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
					t.Fatal(err)
				}
				b.set(j[1])
				h.clock.add(life - last)
				b.set(j[2])
				if v := h.invoke(t, otherExec()); (v.Decision == phases.Allow) == late {
					t.Errorf("used: %s %s", v.Decision, v.Reason)
				}
			})
		}
	}
}

func otherExec() phases.Invocation {
	inv := invocation(phases.PreTool)
	inv.Action = []byte(`{"tool":"exec","args":{"command":"git push other"}}`)
	return inv
}

// A denial answers the same question as long as it holds.
func TestJumpsEndNoDenial(t *testing.T) {
	for _, j := range jumps() {
		var b boot
		h := newHost(t, asking(), reviewed, onBoot(&b))
		id := h.pending(t, invocation(phases.PreTool))
		b.set(j[0])
		if err := h.decide(t, id, approvals.Deny, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
		b.set(j[1])
		h.clock.add(queue.DefaultTimeout - 1)
		b.set(j[2])
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Block || v.DecidedBy != "reviewer" {
			t.Errorf("%v: %s by %s", j, v.Decision, v.DecidedBy)
		}
		h.clock.add(1)
		b.set(-j[2])
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Ask || v.Approval.ID == id {
			t.Errorf("%v: after its time: %s", j, v.Decision)
		}
	}
}

// The sweep, the queue and its quota see the same: no jump makes room or takes it.
func TestJumpsMoveNoQueue(t *testing.T) {
	var b boot
	h := newHost(t, asking(), reviewed, onBoot(&b))
	id := h.pending(t, invocation(phases.PreTool))
	for _, by := range []time.Duration{year, -2 * year, year} {
		b.set(by)
		if err := h.SweepApprovals(t.Context()); err != nil {
			t.Fatal(err)
		}
		counts, err := h.ApprovalCounts(t.Context())
		it, ierr := h.Approval(t.Context(), id)
		if err != nil || ierr != nil || counts[approvals.KindAsk] != 1 || it.State != approvals.Pending {
			t.Errorf("after %v: %v, %s, %v, %v", by, counts, it.State, err, ierr)
		}
	}
	b.set(-year)
	h.clock.add(queue.DefaultTimeout)
	list, err := h.Approvals(t.Context(), approvals.Query{})
	counts, cerr := h.ApprovalCounts(t.Context())
	if err != nil || cerr != nil || len(list) != 1 || list[0].State != approvals.Expired || len(counts) != 0 {
		t.Errorf("in the end: %+v, %v, %v, %v", list, counts, err, cerr)
	}
	// What ended by the boot clock while the wall clock was behind is sound, also after the boot.
	for _, name := range []string{"boot", "boot 2"} {
		b.id.Store(&name)
		if got, err := h.UnsoundApprovals(t.Context()); err != nil || len(got) != 0 {
			t.Errorf("%s: not sound: %v, %v", name, got, err)
		}
	}
}

// In another boot the wall clock counts, and it is not believed when it has gone back
// behind what the store has seen.
func TestAnotherBootGoesByTheWall(t *testing.T) {
	for name, c := range map[string]struct {
		by   time.Duration
		want phases.Decision
	}{
		"in time": {9 * time.Minute, phases.Allow}, "over": {10 * time.Minute, phases.Ask}, "set back": {-year, phases.Allow},
	} {
		var b boot
		h := newHost(t, asking(), reviewed, onBoot(&b))
		id := h.pending(t, invocation(phases.PreTool))
		if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
		second := "boot 2"
		b.id.Store(&second)
		b.set(c.by)
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != c.want {
			t.Errorf("%s: %s, want %s", name, v.Decision, c.want)
		}
	}
	// The time that the store has seen ends it.
	for passed, want := range map[time.Duration]phases.Decision{9 * time.Minute: phases.Allow,
		10 * time.Minute: phases.Ask} {
		var b boot
		keys := audit.Keys{}
		for _, u := range audit.Uses() {
			keys[u] = make([]byte, 32)
		}
		h := newHost(t, asking(), reviewed, onBoot(&b), func(_ *kernel.Config, o *kernel.Options) { o.Digester = keys })
		id := h.pending(t, invocation(phases.PreTool))
		if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
		h.clock.add(passed)
		h.invoke(t, otherExec()) // the store sees it
		second := "boot 2"
		b.id.Store(&second)
		b.set(-year)
		again := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) {
			o.Store, o.Clock, o.Digester = h.store, h.clock, keys
		}, onBoot(&b))
		if v := again.invoke(t, invocation(phases.PreTool)); v.Decision != want {
			t.Errorf("set back behind what the store has seen, after %v: %s, want %s", passed, v.Decision, want)
		}
	}
}

// The stamp of a decision is the host's, whatever comes in with it.
func TestDecisionBringsNoStamp(t *testing.T) {
	var b boot
	h := newHost(t, asking(), reviewed, onBoot(&b))
	id := h.pending(t, invocation(phases.PreTool))
	forged := func(d *approvals.Decision) { d.Clock = leases.Stamp{Boot: "boot", Since: int64(year)} }
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1), forged); err != nil {
		t.Fatal(err)
	}
	it, err := h.Approval(t.Context(), id)
	if err != nil || it.Decision.Clock != (leases.Stamp{Boot: "boot", Since: int64(time.Hour)}) {
		t.Errorf("%+v, %v", it.Decision, err)
	}
	h.clock.add(queue.DefaultTimeout)
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Ask {
		t.Errorf("%s: it lasts as long as its bearer says", v.Decision)
	}
}

// An order lasts as long as was signed, on the host that it was written on.
func TestJumpsEndNoOrder(t *testing.T) {
	for _, by := range []time.Duration{-year, 0, year} {
		for after, class := range map[time.Duration]error{time.Hour - 1: nil, time.Hour: approvals.ErrExpired} {
			var b boot
			h := newHost(t, latching(), reviewed, inStore, onBoot(&b))
			l := h.latchOne(t)
			o := h.signed(t, queue.VerbLatchClear, l.Order(), reviewerKey(1))
			queue.Restamp(o, leases.Instant{Wall: h.clock.Now(), Boot: "boot", Since: time.Hour})
			if err := queue.SignOrder(o, "dev", reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			b.set(by)
			h.clock.add(after)
			_, err := h.UseOrder(t.Context(), queue.VerbLatchClear, l.Order(), o)
			if !errors.Is(err, class) {
				t.Errorf("%v and %v: %v, want %v", by, after, err, class)
			}
		}
	}
}

// A jump is an event, once, and a warning. Metadata carried along a run lasts as long as
// promised, and nothing that is deleted by age is deleted early.
func TestJumpIsAnEvent(t *testing.T) {
	const lasting = kernel.MetadataTTL
	for _, by := range []time.Duration{year, -year} {
		var b boot
		path := filepath.Join(t.TempDir(), "clock.json")
		var log bytes.Buffer

		notes := hook{name: "notes", phases: []phases.Phase{phases.PreTool}, caps: []string{"annotate"},
			imports: []string{"annotate"}, run: effects(annotate("k", "1"))}
		onFile := func(_ *kernel.Config, o *kernel.Options) {
			o.ClockPath, o.Logger = path, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		}
		h := newHost(t, []hook{notes}, onBoot(&b), onFile)
		h.invoke(t, invocation(phases.PreTool))
		b.set(by)
		h.WatchClock(t.Context())
		h.WatchClock(t.Context())
		v := h.invoke(t, invocation(phases.PreSend)) // the hook is not asked: its metadata is carried
		var told []string
		for _, e := range h.events(t, wire.Query{Type: phases.EventNotice}) {
			if strings.HasPrefix(e.Reason, "the clock jumped by ") {
				told = append(told, e.Reason)
			}
		}
		want := map[bool]string{true: "+8760h0m0s", false: "-8760h0m0s"}[by > 0]
		if len(told) != 1 || !strings.HasPrefix(told[0], "the clock jumped by "+want+", from ") ||
			strings.Count(log.String(), "the clock jumped") != 1 {
			t.Errorf("%v: told %q, log %s", by, told, log.String())
		}
		if got := h.ClockWarning(); !strings.HasPrefix(got, "the clock jumped by "+want+", from ") {
			t.Errorf("%v: warning %q", by, got)
		}
		if got := v.Metadata["k"].Value; string(got) != "1" {
			t.Errorf("%v: metadata %s", by, got)
		}
		// The run is carried as long as it was said after its last use. A jump ahead makes that no longer.
		read := func() kernel.RunState {
			r, err := h.store.RunState(t.Context(), invKey(), h.CalmTime())
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		h.clock.add(lasting)
		if r := read(); len(r.Metadata) == 0 {
			t.Errorf("%v: the run has lost what it carries", by)
		}
		h.clock.add(time.Hour)
		if r := read(); by > 0 && len(r.Metadata) != 0 {
			t.Errorf("%v: the run carries it for ever", by)
		}
	}
}

func invKey() phases.RunKey {
	inv := invocation(phases.PreTool)
	return inv.RunKey()
}

// A lease that still lasts by the clock of the boot is not deleted because the wall clock is
// a year ahead, nor are events too young to be compacted.
func TestJumpDeletesNothing(t *testing.T) {
	var b boot
	h := newHost(t, nil, onBoot(&b), required)
	l := h.lend(t, leases.Request{ID: "a", Capability: "tool:write", Scope: &leases.Scope{}, TTLS: 3600, MaxUses: 9})
	h.allowed(t, write("/x"))
	b.set(year)
	h.clock.add(59 * time.Minute) // and a commit drops old rows
	h.allowed(t, write("/x"))
	h.invoke(t, otherRead())
	if got := h.leaseState(t, l.ID); !strings.HasPrefix(got, string(leases.Active)) {
		t.Errorf("the lease is %s", got)
	}
	h.allowed(t, write("/x"))
	if _, err := h.Compact(t.Context(), kernel.Compaction{Through: 1}, kernel.CompactBy{}); !errors.Is(err,
		kernel.ErrTooYoung) {
		t.Errorf("an event of an hour ago is compacted: %v", err)
	}
}

func otherRead() phases.Invocation {
	inv := invocation(phases.PreTool)
	inv.Action = []byte(`{"tool":"read","args":{"file_path":"/y"}}`)
	return inv
}

// timeless is a store that cannot say the highest time that it has seen, for a while, and
// refuses to record.
type timeless struct {
	kernel.Store
	asks, fails int
	deaf        bool
}

var errTimeless = errors.New("no time")

func (s *timeless) LeaseClock(ctx context.Context) (time.Time, error) {
	if s.asks++; s.asks <= s.fails {
		return time.Time{}, errTimeless
	}
	return s.Store.LeaseClock(ctx)
}

func (s *timeless) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if s.deaf {
		return kernel.Receipt{}, kernel.ErrUnavailable
	}
	return s.Store.Commit(ctx, b)
}

// The highest time is asked for until the store has said it, and once then.
func TestHighestTimeIsAskedOnce(t *testing.T) {
	s := &timeless{Store: memory.New(), fails: 3}
	var b boot
	h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store = s }, onBoot(&b))
	for range 8 {
		if _, err := h.ApprovalCounts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s.asks != 4 {
		t.Errorf("asked %d times, want 4", s.asks)
	}
}

// What the log cannot be told is said all the same; a note that cannot be kept is, too.
func TestJumpThatCannotBeRecorded(t *testing.T) {
	s := &timeless{Store: memory.New()}
	var b boot
	var log bytes.Buffer
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) {
		o.Store, o.ClockPath = s, filepath.Join(t.TempDir(), "missing", "clock.json")
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}, onBoot(&b))
	if got := log.String(); !strings.Contains(got, "the note of the clock could not be kept") ||
		strings.Contains(got, "could not be recorded") {
		t.Errorf("logged %s", got)
	}
	log.Reset()
	s.deaf = true
	b.set(time.Hour)
	h.WatchClock(t.Context())
	if got := log.String(); !strings.Contains(got, "the clock jumped by +1h0m0s") ||
		!strings.Contains(got, "what the clock did could not be recorded") {
		t.Errorf("logged %s", got)
	}
}
