package kernel_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// A context that has ended is answered with a block, by whom and whenever it ends, and the
// record says the same: before hooks run, while they do, while validators run ahead,
// while the audit hooks look at the record, and by a deadline.
func TestEndedContextIsNeverAllowed(t *testing.T) {
	type setup struct {
		hooks  []hook
		change change
		o      kernel.InvokeOptions
	}
	for name, make := range map[string]func(end func()) setup{
		"without any hook": func(end func()) setup { end(); return setup{} },
		"a mutator": func(end func()) setup {
			return setup{hooks: []hook{{name: "m", mutates: preTool, run: ending(end)}}}
		},
		"the last validator": func(end func()) setup {
			return setup{hooks: []hook{{name: "v"}, {name: "w", run: ending(end)}}}
		},
		"validators that run ahead": func(end func()) setup {
			free := []string{"input_get"}
			return setup{hooks: []hook{{name: "v", imports: free}, {name: "w", imports: free, run: ending(end)},
				{name: "x", imports: free}}}
		},
		"an observer": func(end func()) setup {
			return setup{hooks: []hook{{name: "o", mode: phases.Observe, run: ending(end)}}}
		},
		"a person is asked by the runtime": func(end func()) setup {
			return setup{hooks: []hook{{name: "a", caps: []string{"request_approval"}, run: ending(end, ask("sure?"))}},
				o: kernel.InvokeOptions{Delegated: true}}
		},
		"a person is asked by the queue": func(end func()) setup {
			return setup{hooks: []hook{{name: "a", caps: []string{"request_approval"}, run: ending(end, ask("sure?"))}}}
		},
		"an audit hook": func(end func()) setup {
			return setup{hooks: []hook{{name: "s", phases: onAudit, run: ending(end)}}}
		},
		"an audit hook that observes": func(end func()) setup {
			return setup{hooks: []hook{{name: "s", phases: onAudit, mode: phases.Observe, run: ending(end)}}}
		},
		"with failures that let pass": func(end func()) setup {
			return setup{hooks: []hook{{name: "v", run: ending(end)}}, change: func(_ *kernel.Config, o *kernel.Options) {
				o.UnsafeFailOpen = true
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := make(cancel)
			h := newHost(t, s.hooks, func(c *kernel.Config, o *kernel.Options) {
				if s.change != nil {
					s.change(c, o)
				}
			})
			v, err := h.InvokeWith(ctx, invocation(phases.PreTool), s.o)
			checkComplete(t, v)
			if v.Decision != phases.Block || v.Kind != phases.KindDeadline || !errors.Is(err, context.Canceled) ||
				v.Approval != nil || v.Action != nil {
				t.Errorf("%s %s (%s), %v", v.Decision, v.Kind, v.Reason, err)
			}
			if v.Event == nil {
				t.Fatal("it is not logged")
			}
			if es := h.events(t, wire.Query{ID: v.Event.ID}); len(es) != 1 || es[0].Decision != "block" ||
				es[0].Kind != phases.KindDeadline {
				t.Errorf("logged: %+v", es)
			}
			if list, err := h.store.Approvals(t.Context(), approvals.Query{}); err != nil || len(list) != 0 {
				t.Errorf("in the queue: %+v, %v", list, err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	h := newHost(t, []hook{{name: "slow", run: func(kernel.Turn) (kernel.Outcome, error) {
		<-ctx.Done()
		return kernel.Outcome{}, nil
	}}})
	if v, err := h.Invoke(ctx, invocation(phases.PreTool)); v.Decision != phases.Block ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline: %s, %v", v.Decision, err)
	}
}

// ending is a hook that takes no notice of its context, which ends meanwhile.
func ending(end func(), list ...phases.Effect) func(kernel.Turn) (kernel.Outcome, error) {
	return func(kernel.Turn) (kernel.Outcome, error) {
		end()
		return kernel.Outcome{Effects: list}, nil
	}
}

// Where nothing may run the verdict holds no action, and the record holds it all the same.
func TestNoActionWhereNothingRuns(t *testing.T) {
	rewriting := func(list ...phases.Effect) hook {
		return hook{name: "h", mutates: preTool, caps: []string{"rewrite:/args", "block", "request_approval"},
			run: effects(append([]phases.Effect{rewrite("/args/command", `"ls -a"`)}, list...)...)}
	}
	for _, c := range []struct {
		name     string
		hooks    []hook
		o        kernel.InvokeOptions
		scopes   phases.Scopes
		decision phases.Decision
		runs     bool
	}{
		{"allowed", []hook{rewriting()}, kernel.InvokeOptions{}, phases.Scopes{}, phases.Allow, true},
		{"asked by the runtime", []hook{rewriting(ask("sure?"))}, kernel.InvokeOptions{Delegated: true}, phases.Scopes{},
			phases.Ask, true},
		{"asked by the queue", []hook{rewriting(ask("sure?"))}, kernel.InvokeOptions{}, phases.Scopes{}, phases.Ask, false},
		{"blocked by a hook", []hook{rewriting(), {name: "b", run: effects(block("no"))}}, kernel.InvokeOptions{},
			phases.Scopes{}, phases.Block, false},
		{"blocked by the one that rewrote it", []hook{rewriting(block("no"))}, kernel.InvokeOptions{}, phases.Scopes{},
			phases.Block, false},
		{"blocked by its scopes", []hook{rewriting()}, kernel.InvokeOptions{}, phases.Scopes{FSRead: phases.Scope{}},
			phases.Block, false},
		{"a failure", []hook{rewriting(), {name: "f", run: failing(phases.KindTrap)}}, kernel.InvokeOptions{},
			phases.Scopes{}, phases.Block, false},
		{"asked where nobody can be", []hook{rewriting(ask("sure?"))}, kernel.InvokeOptions{Unblockable: true},
			phases.Scopes{}, phases.Block, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &tapes{}
			h := newHost(t, c.hooks, recordedBy(r))
			inv := invocation(phases.PreTool)
			inv.Scopes = c.scopes
			v, _ := h.InvokeWith(t.Context(), inv, c.o)
			checkComplete(t, v)
			if v.Decision != c.decision || v.Runs() != c.runs {
				t.Fatalf("%s, runs %v", v.Decision, v.Runs())
			}
			if (len(v.Action) > 0) != c.runs || (len(v.Changed) > 0) != c.runs {
				t.Errorf("action %s, changed %v", v.Action, v.Changed)
			}
			if c.runs {
				if got, _ := phases.GetString(v.Action, "/args/command"); got != "ls -a" {
					t.Errorf("what runs is not what was decided: %s", v.Action)
				}
			}
			if got := r.list[0].Verdict; (len(got.Action) > 0) != c.runs || len(r.list[0].Chained.Action) == 0 {
				t.Errorf("recorded: %s, and what the hooks came to: %s", got.Action, r.list[0].Chained.Action)
			}
			es := h.events(t, wire.Query{ID: v.Event.ID})
			if got, _ := phases.GetString(es[0].Output, "/action/args/command"); got != "ls -a" || len(es[0].Changed) != 1 {
				t.Errorf("logged: %s, changed %v", es[0].Output, es[0].Changed)
			}
			// A latched session: the next action is not released either.
			if c.o.Unblockable {
				if v := h.invoke(t, invocation(phases.PreTool)); v.Enforced != phases.EnforcedLatched || v.Action != nil {
					t.Errorf("in a latched session: %s %s", v.Enforced, v.Action)
				}
			}
		})
	}
}

// Something that has happened latches its session when it is not valid, too: a hook
// might have said no. One that names no session latches none.
func TestAuditThatIsNotValidLatches(t *testing.T) {
	bad := func(session string) phases.Invocation {
		return phases.Invocation{Phase: phases.Audit, Runtime: "custom", Session: session, Action: jsontext.Value(`{"kind":`)}
	}
	reserved := invocation(phases.Audit)
	reserved.Metadata = map[string]jsontext.Value{kernel.CallerKey: jsontext.Value("1")}
	reserved.Session = "s-2"
	for name, inv := range map[string]phases.Invocation{"no action": bad("s-1"), "a reserved key": reserved} {
		h := newHost(t, nil)
		v := h.fails(t, inv, phases.KindProtocol)
		latches, err := h.Latches(t.Context())
		if err != nil || len(latches) != 1 || latches[0].Session != inv.Session || v.Enforced != phases.EnforcedLatched {
			t.Errorf("%s: %s, %+v, %v", name, v.Enforced, latches, err)
		}
	}
	h := newHost(t, []hook{{name: "s", phases: onAudit, run: failing(phases.KindTrap)}})
	h.fails(t, invocation(phases.Audit), phases.KindAudit)
	if latches, err := h.Latches(t.Context()); err != nil || len(latches) != 1 {
		t.Errorf("a valid one that nobody could judge: %+v, %v", latches, err)
	}
	h = newHost(t, nil)
	if _, err := h.Refuse(t.Context(),
		kernel.Refusal{Invocation: bad("s-1"), Fault: phases.NewFault(phases.KindProtocol, "not valid", nil)}); err == nil {
		t.Error("no error")
	}
	if latches, err := h.Latches(t.Context()); err != nil || len(latches) != 1 {
		t.Errorf("a refusal: %+v, %v", latches, err)
	}
	h = newHost(t, nil)
	h.fails(t, bad(""), phases.KindProtocol)
	if latches, err := h.Latches(t.Context()); err != nil || len(latches) != 0 {
		t.Errorf("without a session: %+v, %v", latches, err)
	}
}

// Who runs actions outside gets no lease, and uses none up, once it has given up.
func TestCheckLeaseForACallerThatGaveUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Files = ends(cancel) })
	h.lend(t, leases.Request{ID: "s-1/a"})
	act := write("/srv/a")
	check := func(ctx context.Context) error {
		_, err := h.CheckLease(ctx, kernel.LeaseCheck{Holder: ours, Capability: "tool:write", Action: &act, Claim: true})
		return err
	}
	if err := check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a lease was claimed: %v", err)
	}
	if err := check(t.Context()); err != nil {
		t.Errorf("its only use was taken: %v", err)
	}
}

// ends is a file system without links; the caller gives up while it is asked.
type ends func()

func (f ends) Readlink(context.Context, string) (string, error) {
	f()
	return "", hostcalls.ErrNotLink
}

// A tool call whose caller gives up while its intent is written does not begin, and its
// outcome is logged.
func TestToolCallForACallerThatGaveUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var got []answer
	x := &tools{}
	h := newHost(t, []hook{toolAsker(&got, probeCall)}, withTools(x), func(_ *kernel.Config, o *kernel.Options) {
		o.Store = endsAt{o.Store, phases.EventIntent, cancel}
	})
	v, _ := h.Invoke(ctx, invocation(phases.PreTool))
	time.Sleep(50 * time.Millisecond) // one that had begun would be seen by now
	if v.Decision != phases.Block || len(x.calls) != 0 {
		t.Errorf("%s, and the tool ran %d times", v.Decision, len(x.calls))
	}
	if es := h.events(t, wire.Query{Type: phases.EventOutcome}); len(es) != 1 ||
		es[0].Decision != kernel.OutcomeError {
		t.Errorf("logged: %+v", es)
	}
}

// endsAt is a store whose caller gives up when an event of the type has been written.
type endsAt struct {
	kernel.Store
	on  phases.EventType
	end func()
}

func (s endsAt) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	r, err := s.Store.Commit(ctx, b)
	for _, e := range b.Events {
		if e.Type == s.on {
			s.end()
		}
	}
	return r, err
}
