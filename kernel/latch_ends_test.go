package kernel_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// latched returns the only latch of the host.
func latched(t *testing.T, h *host) kernel.Latch {
	t.Helper()
	list, err := h.Latches(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("latches %+v, %v", list, err)
	}
	return list[0]
}

func on(ps ...phases.Phase) []hook { return []hook{{name: "guard", phases: ps}} }

// judges are configurations under which an enforcing hook would, or would not, have been
// asked about an invocation of the phase.
func judges(p phases.Phase) map[string]struct {
	hooks  []hook
	change change
	ends   bool
} {
	type row = struct {
		hooks  []hook
		change change
		ends   bool
	}
	none := func(*kernel.Config, *kernel.Options) {}
	return map[string]row{
		"no hook":                  {nil, none, true},
		"a hook of another phase":  {on(phases.StateTransition), none, true},
		"an observing hook":        {[]hook{{name: "seer", mode: phases.Observe, phases: []phases.Phase{p}}}, none, true},
		"an audit hook":            {on(phases.Audit), none, true},
		"an enforcing hook":        {on(p), none, false},
		"a hook that did not load": {[]hook{{name: "gone", loadErr: context.Canceled}}, none, false},
		"a required hook": {nil, func(c *kernel.Config, _ *kernel.Options) {
			c.Require = []kernel.Require{{Phases: []phases.Phase{p}, Hooks: []string{"x"}}}
		}, false},
		"a hook that may be bound": {nil, func(c *kernel.Config, _ *kernel.Options) {
			c.Judges = func(q phases.Phase) bool { return p == q }
		}, false},
		"a ceiling": {nil, func(c *kernel.Config, _ *kernel.Options) {
			c.Ceiling = phases.Scopes{Net: []string{"example.org:443"}}
		}, false},
		"a hook of another runtime": {[]hook{{name: "other", phases: []phases.Phase{p},
			spec: func(s *kernel.BindingSpec) { s.Match = &tiers.Match{Runtimes: []string{"codex"}} }}}, none, true},
		"a lease that the phase asks": {nil, func(c *kernel.Config, _ *kernel.Options) {
			c.RequireLease = []kernel.RequireLease{{Phases: []phases.Phase{p}, Capability: "tool:exec"}}
		}, false},
	}
}

// A latch of belay's own making ends with its cause, unless an enforcing hook would have
// judged the event that was refused.
func TestLatchesEndWithTheirCause(t *testing.T) {
	p := phases.PrePlan
	for name, c := range judges(p) {
		t.Run(name, func(t *testing.T) {
			causes := map[phases.LatchKind]*phases.Fault{
				phases.LatchOverload: phases.NewFault(phases.KindDeadline, "too many actions wait", nil),
				phases.LatchDeadline: phases.NewFault(phases.KindDeadline, "the caller gave up", nil),
				phases.LatchStore:    phases.NewFault(phases.KindStore, "the store could not be read", nil),
				phases.LatchStopped:  phases.NewFault(phases.KindLoad, "belay was closed", nil),
			}
			for why, fault := range causes {
				h := newHost(t, c.hooks, c.change)
				r := kernel.Refusal{Invocation: invocation(p), Fault: fault, Unblockable: true}
				if why == phases.LatchOverload {
					r.Why = why
				}
				v, _ := h.Refuse(t.Context(), r)
				l := latched(t, h)
				if v.Enforced != phases.EnforcedLatched || l.Why() != why || l.ID == "" || l.Event != v.Event.ID ||
					(l.Ends == phases.EndsWithCause) != c.ends {
					t.Fatalf("%s: %s %+v", why, v.Enforced, l)
				}
				if why == phases.LatchOverload {
					if err := h.Recover(t.Context()); err != nil || latched(t, h) != l {
						t.Errorf("ended while the overload lasts: %v", err)
					}
					if err := h.OverloadEnded(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if err := h.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				list, _ := h.Latches(t.Context())
				lifted := h.events(t, wire.Query{Type: phases.EventLatch, Decision: kernel.DecisionLifted})
				if (len(list) == 0) != c.ends || (len(lifted) == 1) != c.ends {
					t.Errorf("%s: %+v, %d events lift", why, list, len(lifted))
				}
				if c.ends {
					id, _ := phases.GetString(lifted[0].Output, "/latch")
					cause, _ := phases.GetString(lifted[0].Output, "/cause")
					if id != l.ID || cause != string(why) || lifted[0].Reason == "" || lifted[0].Session != "s-1" {
						t.Errorf("%s: %+v", why, lifted[0])
					}
				}
			}
		})
	}
}

// What a hook decided, what failed and what could not be judged stays until a person
// clears it; so does what withheld content that the runtime keeps.
func TestLatchesThatStay(t *testing.T) {
	store := phases.NewFault(phases.KindStore, "the store could not be read", nil)
	for name, c := range map[string]struct {
		hooks []hook
		do    func(t *testing.T, h *host)
		why   phases.LatchKind
	}{
		"a decision": {[]hook{{name: "no", phases: []phases.Phase{phases.PrePlan}, caps: []string{"block"},
			run: effects(block("no"))}}, func(t *testing.T, h *host) {
			h.invoke(t, invocation(phases.PrePlan), unblockable)
		}, phases.LatchDecision},
		"a hook's deadline": {[]hook{{name: "slow", phases: []phases.Phase{phases.PrePlan},
			run: failing(phases.KindDeadline)}}, func(t *testing.T, h *host) {
			h.fails(t, invocation(phases.PrePlan), phases.KindDeadline, unblockable)
		}, phases.LatchFailure},
		"an audit hook's failure": {[]hook{{name: "s", phases: onAudit, run: failing(phases.KindTrap)}},
			func(t *testing.T, h *host) {
				h.fails(t, invocation(phases.Audit), phases.KindAudit)
			}, phases.LatchFailure},
		"not valid": {nil, func(t *testing.T, h *host) {
			inv := invocation(phases.Audit)
			inv.Action = jsontext.Value(`{"kind":`)
			h.fails(t, inv, phases.KindProtocol)
		}, phases.LatchPayload},
		"not read": {nil, func(t *testing.T, h *host) { h.Refuse(t.Context(), garbage("s-1")) }, phases.LatchPayload},
		"a result": {nil, func(t *testing.T, h *host) {
			h.Refuse(t.Context(), kernel.Refusal{Invocation: invocation(phases.PostTool), Fault: store, Unblockable: true})
		}, phases.LatchStore},
		"an answer": {nil, func(t *testing.T, h *host) {
			h.Refuse(t.Context(), kernel.Refusal{Invocation: invocation(phases.PostReceive), Fault: store, Unblockable: true})
		}, phases.LatchStore},
		"what nobody decoded": {nil, func(t *testing.T, h *host) {
			h.Refuse(t.Context(),
				kernel.Refusal{Invocation: phases.Invocation{Runtime: "custom", Session: "s-1"}, Fault: store, Unblockable: true,
					Unread: true})
		}, phases.LatchStore},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, c.hooks)
			c.do(t, h)
			if err := h.OverloadEnded(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := h.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if l := latched(t, h); l.Why() != c.why || l.Ends != phases.EndsByPerson {
				t.Errorf("%+v, want kind %s", l, c.why)
			}
			if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Decision != phases.Block ||
				!strings.Contains(v.Reason, " of kind "+string(c.why)+" ") && c.why != phases.LatchFailure {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A caller's time that is over latches no longer than that: the next action of the session
// lifts the latch, and is decided.
func TestNextActionLiftsWhatHasEnded(t *testing.T) {
	h := newHost(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, _ := h.InvokeWith(ctx, invocation(phases.Audit), kernel.InvokeOptions{}); v.Enforced != phases.EnforcedLatched ||
		v.Kind != phases.KindDeadline {
		t.Fatalf("%+v", v)
	}
	if l := latched(t, h); l.Why() != phases.LatchDeadline {
		t.Errorf("%+v", l)
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("%+v", v)
	}
	if list, _ := h.Latches(t.Context()); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// What a hook decides while a session is latched for an overload stays after its end.
func TestDecisionOutlivesTheOverload(t *testing.T) {
	h := newHost(t,
		[]hook{{name: "no", phases: []phases.Phase{phases.Spawn}, caps: []string{"block"}, run: effects(block("no"))}})
	h.Refuse(t.Context(),
		kernel.Refusal{Invocation: invocation(phases.PrePlan),
			Fault: phases.NewFault(phases.KindDeadline, "too many wait", nil), Why: phases.LatchOverload, Unblockable: true})
	if l := latched(t, h); l.Ends != phases.EndsWithCause {
		t.Fatalf("%+v", l)
	}
	h.invoke(t, invocation(phases.Spawn), unblockable)
	if err := h.OverloadEnded(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := latched(t, h); l.Why() != phases.LatchDecision || l.DecidedBy != "no" {
		t.Errorf("%+v", l)
	}
}

// A full disk refuses a notification: its session is free when the disk is.
func TestFullDiskLatchesNothingForGood(t *testing.T) {
	for name, spooled := range map[string]bool{"in memory": false, "in the spool": true} {
		t.Run(name, func(t *testing.T) {
			f := &flaky{Store: memory.New()}
			h := newHost(t, on(phases.PreTool, phases.Audit), func(_ *kernel.Config, o *kernel.Options) {
				if o.Store = f; spooled {
					o.SpoolPath = filepath.Join(t.TempDir(), "spool.jsonl")
				}
			})
			f.set(false, true, false)
			if v, _ := h.InvokeWith(t.Context(), invocation(phases.Audit), kernel.InvokeOptions{}); v.Decision != phases.Block ||
				v.Enforced != phases.EnforcedLatched {
				t.Fatalf("%+v", v)
			}
			if v, _ := h.InvokeWith(t.Context(), invocation(phases.PreTool),
				kernel.InvokeOptions{}); v.Decision != phases.Block {
				t.Fatalf("%+v", v)
			}
			f.set(false, false, false)
			if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
				t.Errorf("%+v", v)
			}
			gaps := h.events(t, wire.Query{Type: phases.EventGap})
			if len(gaps) == 0 ||
				!strings.Contains(string(gaps[0].Output), `"lifted":[{"runtime":"custom","session":"s-1","cause":"store"}]`) {
				t.Errorf("%+v", gaps)
			}
		})
	}
}

// The block of a hook that a full disk kept from the record latches when the disk is free.
func TestFullDiskLosesNoDecision(t *testing.T) {
	for name, c := range map[string]struct {
		hooks []hook
		phase phases.Phase
		why   phases.LatchKind
	}{
		"a block": {[]hook{{name: "no", phases: []phases.Phase{phases.Spawn}, caps: []string{"block"},
			run: effects(block("no"))}}, phases.Spawn, phases.LatchDecision},
		"a failed audit": {[]hook{{name: "s", phases: onAudit, run: failing(phases.KindTrap)}}, phases.Audit,
			phases.LatchFailure},
	} {
		t.Run(name, func(t *testing.T) {
			f := &flaky{Store: memory.New()}
			once := &failingOnce{flaky: f}
			h := newHost(t, c.hooks, func(_ *kernel.Config, o *kernel.Options) { o.Store = once })
			once.arm()
			h.InvokeWith(t.Context(), invocation(c.phase), unblockable)
			if err := h.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if l := latched(t, h); l.Why() != c.why || l.Reason != "the record of a block by "+c.hooks[0].name+
				" could not be written" {
				t.Errorf("%+v", l)
			}
		})
	}
}

// failingOnce fails the next commit.
type failingOnce struct {
	*flaky
	next bool
}

func (f *failingOnce) arm() { f.next = true }

func (f *failingOnce) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if f.next {
		f.next = false
		return kernel.Receipt{}, kernel.ErrUnavailable
	}
	return f.flaky.Commit(ctx, b)
}

// A note of a command that found no daemon is judged by the hooks of the process that
// takes it up. One that says too little, or of an older version, stays.
func TestNotesEndWithTheirCause(t *testing.T) {
	for name, c := range map[string]struct {
		hooks []hook
		note  notes.Note
		held  bool
	}{
		"no hook would have judged": {on(phases.Spawn),
			notes.Note{Cause: phases.LatchStopped, Phases: []phases.Phase{phases.PrePlan}}, false},
		"an audit event": {on(phases.Audit),
			notes.Note{Cause: phases.LatchStopped, Phases: []phases.Phase{phases.Audit}}, false},
		"a hook would have": {on(phases.PrePlan),
			notes.Note{Cause: phases.LatchStopped, Phases: []phases.Phase{phases.PrePlan}}, true},
		"of one of two": {on(phases.Spawn),
			notes.Note{Cause: phases.LatchStopped, Phases: []phases.Phase{phases.PrePlan, phases.Spawn}}, true},
		"of some runtimes": {[]hook{{name: "other", phases: []phases.Phase{phases.PrePlan},
			spec: func(s *kernel.BindingSpec) { s.Match = &tiers.Match{Runtimes: []string{"codex"}} }}},
			notes.Note{Cause: phases.LatchStopped, Phases: []phases.Phase{phases.PrePlan}}, true},
		"a result": {nil,
			notes.Note{Cause: phases.LatchStopped, Phases: []phases.Phase{phases.PostTool}}, true},
		"what could not be read": {nil, notes.Note{Cause: phases.LatchPayload}, true},
		"a cause that is not its own": {nil,
			notes.Note{Cause: phases.LatchPayload, Phases: []phases.Phase{phases.PrePlan}}, true},
		"no phase":                    {nil, notes.Note{Cause: phases.LatchStopped}, true},
		"of an older version":         {nil, notes.Note{}, true},
		"of a word that is not known": {nil, notes.Note{Cause: "moon", Phases: []phases.Phase{phases.PrePlan}}, true},
		"of an end that is not known": {nil,
			notes.Note{Cause: phases.LatchStopped, Ends: "moon", Phases: []phases.Phase{phases.PrePlan}}, true},
		"a decision that says it ends": {nil, notes.Note{Cause: phases.LatchDecision, Ends: phases.EndsWithCause}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spool.jsonl")
			h := newHost(t, c.hooks, func(_ *kernel.Config, o *kernel.Options) { o.SpoolPath = path })
			n := c.note
			n.Time, n.Runtime, n.Session, n.Kind, n.Reason, n.Unblockable = h.clock.Now(), "custom", "s-1", phases.KindLoad,
				"the daemon could not be asked", true
			if err := notes.Append(path, n); err != nil {
				t.Fatal(err)
			}
			v := h.invoke(t, invocation(phases.PreTool))
			if held := v.Enforced == phases.EnforcedLatched; held != c.held {
				t.Fatalf("%+v", v)
			}
			if c.held {
				if l := latched(t, h); l.Ends == phases.EndsWithCause {
					t.Errorf("%+v", l)
				}
			}
		})
	}
}

// An event that names no session holds what names none, never a session that it does not name.
func TestUnnamedLatchHoldsWhatNamesNoSession(t *testing.T) {
	h := newHost(t, []hook{{name: "s", phases: onAudit, run: failing(phases.KindTrap)}})
	unnamed := invocation(phases.Audit)
	unnamed.Session = ""
	if v := h.fails(t, unnamed, phases.KindAudit); v.Enforced != phases.EnforcedLatched {
		t.Fatalf("%+v", v)
	}
	h = newHostOn(t, h.store)
	if l := latched(t, h); l.Scope() != "unnamed" || l.Why() != phases.LatchFailure {
		t.Errorf("%+v", l)
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("a session that was not named: %+v", v)
	}
	next := invocation(phases.PreTool)
	next.Session = ""
	if v := h.invoke(t, next); v.Enforced != phases.EnforcedLatched ||
		!strings.Contains(v.Reason, "`belay latch clear custom` clears it") {
		t.Errorf("what names no session: %+v", v)
	}
}

func newHostOn(t *testing.T, s kernel.Store) *host {
	return newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store = s })
}

// The reason of a denial leaves room for the latch, however long a hook's words are.
func TestDenialIsBounded(t *testing.T) {
	l := kernel.Latch{Runtime: "custom", Session: strings.Repeat("'", phases.MaxIDBytes),
		Reason: strings.Repeat("x", 2*phases.MaxReasonBytes), ID: "i", Since: time.Unix(0, 0)}
	if d := l.Denial(); len(d) > phases.MaxReasonBytes || !strings.HasPrefix(d, "xxx") ||
		!strings.HasSuffix(d, "` clears it)") {
		t.Errorf("%d bytes: %.80s", len(d), d)
	}
}

// The end of a session's latch does not free it from the one of its whole runtime, which an
// older version made: no hook is asked.
func TestRuntimeIsHeldAfterTheSessionIsFree(t *testing.T) {
	asked := 0
	h := newHost(t,
		[]hook{{name: "guard", phases: []phases.Phase{phases.PreTool}, run: func(kernel.Turn) (kernel.Outcome, error) {
			asked++
			return kernel.Outcome{}, nil
		}}})
	key := wire.Session{Runtime: "custom", Session: "s-1"}
	old := &kernel.Latch{Runtime: "custom", Reason: "an audit failed",
		Kind: phases.KindAudit, DecidedBy: "recorder", Since: h.clock.Now(), ID: "inv-1"}
	if _, err := h.store.Commit(t.Context(),
		kernel.Batch{Now: h.clock.Now(), Latch: old,
			Events: []phases.Event{{ID: "e-1", Type: phases.EventNotice, Time: h.clock.Now()}}}); err != nil {
		t.Fatal(err)
	}
	late := &kernel.Latch{Runtime: key.Runtime, Session: key.Session, Reason: "the caller gave up",
		Kind: phases.KindDeadline, Since: h.clock.Now(),
		ID: "inv-2", Invocation: "inv-2", Cause: phases.LatchDeadline, Ends: phases.EndsWithCause}
	if _, err := h.store.Commit(t.Context(),
		kernel.Batch{Now: h.clock.Now(), Latch: late,
			Events: []phases.Event{{ID: "e-2", Type: phases.EventNotice, Time: h.clock.Now()}}}); err != nil {
		t.Fatal(err)
	}
	v := h.invoke(t, invocation(phases.PreTool))
	if v.Enforced != phases.EnforcedLatched || !strings.Contains(v.Reason, "an audit failed") {
		t.Errorf("%+v", v)
	}
	if l := latched(t, h); l.Scope() != "runtime" {
		t.Errorf("%+v", l)
	}
	if asked != 0 {
		t.Errorf("the hook was asked %d times", asked)
	}
}
