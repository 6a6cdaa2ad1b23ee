package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func retaining(_ *kernel.Config, o *kernel.Options) { o.Retain = &kernel.Retention{} }

// refuseFor refuses an unblockable event of the phase for the cause.
func refuseFor(t *testing.T, h *host, why phases.LatchKind, inv phases.Invocation) phases.Verdict {
	t.Helper()
	v, _ := h.Refuse(t.Context(),
		kernel.Refusal{Invocation: inv, Fault: phases.NewFault(phases.KindStore, "refused", nil), Why: why,
			Unblockable: true})
	if v.Enforced != phases.EnforcedLatched {
		t.Fatalf("%+v", v)
	}
	return v
}

// lifts are the events that ended a latch without a person.
func lifts(t *testing.T, h *host) []phases.Event {
	t.Helper()
	return h.events(t, wire.Query{Type: phases.EventLatch, Decision: kernel.DecisionLifted})
}

// judged are the verdicts on events that were refused before.
func judged(t *testing.T, h *host) (out []phases.Event) {
	t.Helper()
	for _, e := range h.events(t, wire.Query{}) {
		if len(e.Notes) > 0 && strings.HasPrefix(e.Notes[0], kernel.NoteAfterwards) {
			out = append(out, e)
		}
	}
	return out
}

// What belay refused for a cause of its own is judged when the cause has ended; what
// anything else latched stays until a person clears it.
func TestRefusedEventsAreJudgedAfterwards(t *testing.T) {
	for _, p := range []phases.Phase{phases.PrePlan, phases.PostTool, phases.Spawn} {
		for _, why := range phases.LatchKinds()[1:] {
			t.Run(fmt.Sprint(p, " ", why), func(t *testing.T) {
				h := newHost(t, on(p), retaining)
				refusal := refuseFor(t, h, why, invocation(p))
				if l := latched(t, h); why.OwnMaking() != (l.Ends == phases.EndsByJudging) {
					t.Fatalf("%+v", l)
				}
				if why == phases.LatchOverload {
					if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Enforced != phases.EnforcedLatched ||
						len(judged(t, h)) > 0 {
						t.Errorf("judged while the overload lasts: %+v", v)
					}
					if err := h.OverloadEnded(t.Context()); err != nil {
						t.Fatal(err)
					}
				} else {
					v, _ := h.Invoke(t.Context(), invocation(phases.PreTool))
					if free := v.Decision == phases.Allow; free != why.OwnMaking() {
						t.Errorf("the next action: %+v", v)
					}
				}
				list, _ := h.Latches(t.Context())
				if (len(list) == 0) != why.OwnMaking() {
					t.Errorf("%+v", list)
				}
				if !why.OwnMaking() {
					if n := len(judged(t, h)); n > 0 {
						t.Errorf("judged %d times", n)
					}
					return
				}
				verdicts, lifted := judged(t, h), lifts(t, h)
				if len(verdicts) != 1 || len(lifted) != 1 {
					t.Fatalf("%+v %+v", verdicts, lifted)
				}
				v := verdicts[0]
				if v.Type != phases.EventVerdict || v.Decision != "allow" || v.Enforced != phases.EnforcedNone || v.Phase != p ||
					v.Invocation == refusal.ID ||
					v.Notes[0] != kernel.NoteAfterwards+": invocation "+refusal.ID+" was refused for "+string(why) {
					t.Errorf("%+v", v)
				}
				if by, _ := phases.GetString(lifted[0].Output, "/judged"); by != v.ID || lifted[0].Seq != v.Seq+1 ||
					lifted[0].Invocation != refusal.ID {
					t.Errorf("lifted by %q: %+v", by, lifted[0])
				}
			})
		}
	}
}

// What a hook would not have let pass keeps its session, by the decision of that hook.
func TestRefusedEventsThatDoNotPass(t *testing.T) {
	mutator := func(e ...phases.Effect) hook {
		return hook{name: "guard", phases: []phases.Phase{phases.PrePlan, phases.PostTool},
			mutates: []phases.Phase{phases.PrePlan, phases.PostTool},
			caps:    []string{"rewrite", "reply", "add_context"}, run: effects(e...)}
	}
	judge := func(run func(kernel.Turn) (kernel.Outcome, error)) hook {
		return hook{name: "guard", phases: []phases.Phase{phases.PrePlan}, caps: []string{"block", "request_approval"},
			run: run}
	}
	for name, c := range map[string]struct {
		hook   hook
		inv    phases.Invocation
		why    phases.LatchKind // of the latch that is left; "": none
		reason string
	}{
		"passes":      {judge(nil), invocation(phases.PrePlan), "", ""},
		"blocks":      {judge(effects(block("not today"))), invocation(phases.PrePlan), phases.LatchDecision, "not today"},
		"asks":        {judge(effects(ask("may it?"))), invocation(phases.PrePlan), phases.LatchDecision, "may it?"},
		"fails":       {judge(failing(phases.KindTrap)), invocation(phases.PrePlan), phases.LatchFailure, ""},
		"is too slow": {judge(failing(phases.KindDeadline)), invocation(phases.PrePlan), phases.LatchFailure, ""},
		"rewrites": {mutator(rewrite("/text", `"other"`)), invocation(phases.PrePlan), phases.LatchDecision,
			"guard wants to change it, and it is too late"},
		"rewrites a result": {mutator(rewrite("/result", `"other"`)), invocation(phases.PostTool), phases.LatchDecision,
			"guard wants to change it, and it is too late"},
		"replies": {mutator(phases.Effect{Kind: phases.EffectReply, Value: jsontext.Value(`{"text":"hi"}`)}),
			invocation(phases.PrePlan),
			phases.LatchDecision, "guard wants to answer it, and it is too late"},
		"adds a context": {mutator(phases.Effect{Kind: phases.EffectContext, Text: "mind the gap"}),
			invocation(phases.PrePlan), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, []hook{c.hook}, retaining)
			refuseFor(t, h, phases.LatchDeadline, c.inv)
			v, _ := h.Invoke(t.Context(), invocation(phases.PreTool))
			if (v.Decision == phases.Allow) != (c.why == "") {
				t.Fatalf("%+v", v)
			}
			if n := len(judged(t, h)); n != 1 {
				t.Errorf("judged %d times", n)
			}
			if c.why == "" {
				return
			}
			l := latched(t, h)
			if l.Why() != c.why || l.Ends != phases.EndsByPerson || l.DecidedBy != "guard" ||
				!strings.Contains(l.Reason, c.reason) {
				t.Errorf("%+v", l)
			}
			if !strings.Contains(v.Reason, "`belay latch clear custom s-1` clears it") {
				t.Errorf("%s", v.Reason)
			}
			if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Decision != phases.Block || len(judged(t, h)) != 1 {
				t.Errorf("the action after: %+v", v)
			}
		})
	}
}

// Events of a session are judged in their order, and its latch is lifted with the last.
func TestRefusedEventsAreJudgedInTheirOrder(t *testing.T) {
	for name, c := range map[string]struct {
		texts []string
		free  bool
	}{
		"all pass":         {[]string{"a", "b", "c"}, true},
		"the first blocks": {[]string{"bad", "b", "c"}, false},
		"the last blocks":  {[]string{"a", "b", "bad"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			guard := hook{name: "guard", phases: []phases.Phase{phases.PrePlan}, caps: []string{"block"},
				run: func(tn kernel.Turn) (kernel.Outcome, error) {
					text, _ := phases.GetString(tn.Session.Input, "/text")
					if seen = append(seen, text); text == "bad" {
						return effects(block("bad"))(tn)
					}
					return kernel.Outcome{}, nil
				}}
			h := newHost(t, []hook{guard}, retaining)
			for _, text := range c.texts {
				inv := invocation(phases.PrePlan)
				inv.Action = jsontext.Value(`{"kind":"message","text":"` + text + `"}`)
				refuseFor(t, h, phases.LatchStore, inv)
			}
			if err := h.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			list, _ := h.Latches(t.Context())
			if (len(list) == 0) != c.free || !slices.IsSorted(seen) && c.free || seen[0] != c.texts[0] {
				t.Errorf("%+v, judged %q", list, seen)
			}
			if n := len(lifts(t, h)); c.free != (n == 1) {
				t.Errorf("lifted %d times", n)
			}
		})
	}
}

// A store that fails while an event is refused, or judged: the event is judged when the
// store works again, and nothing is lifted before its verdict is recorded.
func TestJudgedWhenTheStoreWorksAgain(t *testing.T) {
	for name, spooled := range map[string]bool{"in memory": false, "in the spool": true} {
		t.Run(name, func(t *testing.T) {
			f := &flaky{Store: memory.New()}
			h := newHost(t, on(phases.PrePlan), retaining, func(_ *kernel.Config, o *kernel.Options) {
				if o.Store = f; spooled {
					o.SpoolPath = filepath.Join(t.TempDir(), "spool.jsonl")
				}
			})
			f.set(false, true, false)
			if v, _ := h.InvokeWith(t.Context(), invocation(phases.PrePlan),
				unblockable); v.Enforced != phases.EnforcedLatched || v.Event != nil {
				t.Fatalf("%+v", v)
			}
			if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Decision != phases.Block {
				t.Fatalf("%+v", v)
			}
			f.set(false, false, false)
			if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
				t.Errorf("%+v", v)
			}
			if n := len(judged(t, h)); n != 1 || len(lifts(t, h)) != 1 {
				t.Errorf("judged %d times, lifted %d times", n, len(lifts(t, h)))
			}
		})
	}
}

// dying is a store that fails each commit which lifts a latch, as a process does that
// dies between the verdict and its record.
type dying struct {
	kernel.Store
	off bool
}

func (d *dying) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	if b.ClearLatch != nil && !d.off {
		return kernel.Receipt{}, errors.New("died")
	}
	return d.Store.Commit(ctx, b)
}

// The verdict and the end of the latch are one transaction. A process that dies before it
// leaves the session latched, and the next one, which does not have the event, says so.
func TestCrashWhileAnEventIsJudged(t *testing.T) {
	d := &dying{Store: memory.New()}
	h := newHost(t, on(phases.PrePlan), retaining, func(_ *kernel.Config, o *kernel.Options) { o.Store = d })
	refuseFor(t, h, phases.LatchDeadline, invocation(phases.PrePlan))
	before := latched(t, h)
	if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Enforced != phases.EnforcedLatched {
		t.Fatalf("%+v", v)
	}
	if n := len(judged(t, h)); n != 0 || latched(t, h) != before {
		t.Fatalf("%d verdicts without the end of the latch", n)
	}
	d.off = true
	// Another process, such as a command, leaves the latch alone.
	h = newHostOn(t, d)
	if err := h.Recover(t.Context()); err != nil || latched(t, h) != before {
		t.Errorf("%v, %+v", err, latched(t, h))
	}
	// One that serves the store in its place does not have the event.
	h = newHost(t, nil, retaining, func(_ *kernel.Config, o *kernel.Options) { o.Store = d })
	if err := h.OverloadEnded(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := latched(t, h)
	if l.Ends != phases.EndsByPerson || l.Why() != phases.LatchDeadline ||
		!strings.Contains(l.Reason, "does not have it any more") || l.Event != before.Event {
		t.Errorf("%+v", l)
	}
	if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); !strings.Contains(v.Reason,
		"`belay latch clear custom s-1` clears it") {
		t.Errorf("%+v", v)
	}
	if err := h.ClearLatch(t.Context(), wire.Session{Runtime: "custom", Session: "s-1"}, "op", nil); err != nil {
		t.Error(err)
	}
}

// The event of a process that has ended is not lifted by the verdict on a later one.
func TestVerdictLiftsNothingOfAnotherProcess(t *testing.T) {
	s := memory.New()
	keep := func(_ *kernel.Config, o *kernel.Options) { o.Store = s }
	first := newHost(t, on(phases.PrePlan), retaining, keep)
	refuseFor(t, first, phases.LatchDeadline, invocation(phases.PrePlan))
	second := newHost(t, on(phases.PrePlan), retaining, keep)
	refuseFor(t, second, phases.LatchDeadline, invocation(phases.PrePlan))
	if l := latched(t, second); l.Ends != phases.EndsByPerson {
		t.Errorf("%+v", l)
	}
	if v, _ := second.Invoke(t.Context(), invocation(phases.PreTool)); v.Enforced != phases.EnforcedLatched {
		t.Errorf("%+v", v)
	}

	// The same for what the first one has noted, since its store did not work.
	path, f := filepath.Join(t.TempDir(), "spool.jsonl"), &flaky{Store: memory.New()}
	noting := func(_ *kernel.Config, o *kernel.Options) { o.Store, o.SpoolPath = f, path }
	third := newHost(t, on(phases.PrePlan), retaining, noting)
	f.set(false, true, false)
	if v, _ := third.InvokeWith(t.Context(), invocation(phases.PrePlan), unblockable); v.Event != nil {
		t.Fatalf("%+v", v)
	}
	if left, _ := notes.Read(path); len(left) != 1 || left[0].Ends != phases.EndsByJudging {
		t.Fatalf("%+v", left)
	}
	f.set(false, false, false)
	fourth := newHost(t, on(phases.PrePlan), retaining, noting)
	if v, _ := fourth.Invoke(t.Context(), invocation(phases.PreTool)); v.Enforced != phases.EnforcedLatched {
		t.Errorf("%+v", v)
	}
	if l := latched(t, fourth); l.Ends != phases.EndsByPerson {
		t.Errorf("%+v", l)
	}
}

// A person who clears the latch has decided: nothing latches it again for that event.
func TestPersonClearsWhatWaitsForAVerdict(t *testing.T) {
	h := newHost(t,
		[]hook{{name: "no", phases: []phases.Phase{phases.PrePlan}, caps: []string{"block"}, run: effects(block("no"))}},
		retaining)
	refuseFor(t, h, phases.LatchOverload, invocation(phases.PrePlan))
	if err := h.ClearLatch(t.Context(), wire.Session{Runtime: "custom", Session: "s-1"}, "op", nil); err != nil {
		t.Fatal(err)
	}
	if err := h.OverloadEnded(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow || len(judged(t, h)) != 0 {
		t.Errorf("%+v", v)
	}
}

// What does not fit, what has not come whole, and what a kernel without hooks refused is
// not retained: its session stays latched until a person clears it.
func TestWhatIsNotRetainedStaysLatched(t *testing.T) {
	large := invocation(phases.PrePlan)
	large.Action = jsontext.Value(`{"kind":"message","text":"` + strings.Repeat("x", 900<<10) + `"}`)
	other := invocation(phases.PrePlan)
	other.Session = "s-2"
	for name, c := range map[string]struct {
		change change
		do     func(t *testing.T, h *host)
	}{
		"too many of one session": {retaining, func(t *testing.T, h *host) {
			for range 33 {
				refuseFor(t, h, phases.LatchStore, invocation(phases.PrePlan))
			}
		}},
		"too many bytes": {retaining, func(t *testing.T, h *host) {
			for range 20 {
				refuseFor(t, h, phases.LatchStore, large)
			}
		}},
		"not decoded": {retaining, func(t *testing.T, h *host) {
			h.Refuse(t.Context(),
				kernel.Refusal{Invocation: phases.Invocation{Runtime: "custom", Session: "s-1"}, Unread: true, Unblockable: true,
					Why: phases.LatchStore})
		}},
		"of another session than it says": {retaining, func(t *testing.T, h *host) {
			h.Refuse(t.Context(),
				kernel.Refusal{Invocation: phases.Invocation{Runtime: "custom", Session: "s-1"}, Unread: true, Unblockable: true,
					Why: phases.LatchStore, Of: []phases.Invocation{other}})
		}},
		"hooks are not loaded": {func(c *kernel.Config, o *kernel.Options) {
			retaining(c, o)
			c.Bindings, c.Judges = nil, func(phases.Phase) bool { return true }
		}, func(t *testing.T, h *host) { refuseFor(t, h, phases.LatchStore, invocation(phases.PrePlan)) }},
		"a kernel that retains nothing": {func(*kernel.Config, *kernel.Options) {}, func(t *testing.T, h *host) {
			refuseFor(t, h, phases.LatchStore, invocation(phases.PrePlan))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, on(phases.PrePlan), c.change)
			c.do(t, h)
			if err := h.OverloadEnded(t.Context()); err != nil {
				t.Fatal(err)
			}
			if l := latched(t, h); l.Ends != phases.EndsByPerson || l.Session != "s-1" {
				t.Errorf("%+v", l)
			}
			if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); !strings.Contains(v.Reason,
				"`belay latch clear custom s-1` clears it") {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A host that may decide nothing now judges nothing either, and what its caller gave up
// is judged the next time.
func TestJudgingWaitsForTheHost(t *testing.T) {
	var notYet error
	h := newHost(t, on(phases.PrePlan), func(_ *kernel.Config, o *kernel.Options) {
		o.Retain = &kernel.Retention{Ready: func(*phases.Invocation) error { return notYet }}
	})
	refuseFor(t, h, phases.LatchStore, invocation(phases.PrePlan))
	notYet = errors.New("full inputs cannot be kept")
	if v, _ := h.Invoke(t.Context(), invocation(phases.PreTool)); v.Enforced != phases.EnforcedLatched ||
		len(judged(t, h)) > 0 {
		t.Errorf("%+v", v)
	}
	notYet = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, _ := h.InvokeWith(ctx, invocation(phases.PreTool), kernel.InvokeOptions{}); v.Decision != phases.Block ||
		len(lifts(t, h)) > 0 {
		t.Errorf("%+v", v)
	}
	if l := latched(t, h); l.Ends != phases.EndsByJudging {
		t.Errorf("%+v", l)
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("%+v", v)
	}
}

// A refusal whose record came later than its note is judged once both are settled: neither
// latches its session again.
func TestRefusalWithALateRecordIsJudged(t *testing.T) {
	for name, spooled := range map[string]bool{"in memory": false, "in the spool": true} {
		t.Run(name, func(t *testing.T) {
			store := &stuck{memory.New(), make(chan struct{})}
			close(store.free)
			h := newHost(t, on(phases.PrePlan), retaining, func(_ *kernel.Config, o *kernel.Options) {
				if o.Store = store; spooled {
					o.SpoolPath = filepath.Join(t.TempDir(), notes.SpoolName)
				}
			})
			store.free = make(chan struct{})
			for n := range 3 {
				if v, _ := h.Refuse(t.Context(), overloadRefusal(n, phases.PrePlan, true)); v.Enforced != phases.EnforcedLatched ||
					v.Event != nil {
					t.Fatalf("%+v", v)
				}
			}
			close(store.free)
			var list []kernel.Latch
			for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
				if err := h.OverloadEnded(t.Context()); err != nil {
					t.Fatal(err)
				}
				if list, _ = h.Latches(t.Context()); len(list) == 0 && len(judged(t, h)) >= 3 {
					break
				}
			}
			for range 20 { // what comes late latches nothing
				if err := h.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			if list, _ = h.Latches(t.Context()); len(list) != 0 {
				t.Errorf("%+v", list)
			}
		})
	}
}
