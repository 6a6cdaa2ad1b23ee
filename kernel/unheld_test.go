package kernel_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func garbage(session string) kernel.Refusal {
	return kernel.Refusal{
		Invocation: phases.Invocation{Runtime: "custom", Session: session}, Raw: []byte("garbage"),
		Fault: phases.NewFault(phases.KindProtocol, "the runtime's payload could not be read", nil), Unblockable: true,
		Unread: true,
	}
}

// What could not be read holds the session that it names, and never a whole runtime. What
// names none is logged and counted.
func TestGarbageLatchesNoRuntime(t *testing.T) {
	for _, down := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "spool.jsonl")
		f := &flaky{Store: memory.New()}
		h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Store, o.SpoolPath = f, path })
		f.set(false, down, false)
		for _, session := range []string{"", "s\x00", "\u202e", "s\xff", strings.Repeat("s", phases.MaxIDBytes+1), "\n"} {
			v, err := h.Refuse(t.Context(), garbage(session))
			if v.Decision != phases.Block || v.Enforced != phases.EnforcedNone || err == nil {
				t.Errorf("down %v, session %q: %+v, %v", down, session, v, err)
			}
			if err := kernel.Spool(path, garbage(session), h.clock.Now()); err != nil {
				t.Fatal(err)
			}
		}
		f.set(false, false, false)
		if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
			t.Errorf("down %v: %+v", down, v)
		}
		if ls, err := h.Latches(t.Context()); err != nil || len(ls) != 0 {
			t.Errorf("down %v: latches %+v, %v", down, ls, err)
		}
		if n, err := h.Unheld(t.Context()); err != nil || n != map[bool]int{false: 6, true: 0}[down] {
			t.Errorf("down %v: %d not held, %v", down, n, err)
		}
		if v, _ := h.Refuse(t.Context(), garbage("s-1")); v.Enforced != phases.EnforcedLatched {
			t.Errorf("a session that is named: %+v", v)
		}
		if ls, _ := h.Latches(t.Context()); len(ls) != 1 || ls[0].Session != "s-1" {
			t.Errorf("latches %+v", ls)
		}
		h.clock.add(2 * kernel.UnheldFor)
		if n, _ := h.Unheld(t.Context()); n != 0 {
			t.Errorf("%d not held after two days", n)
		}
	}
}

// So is a refusal whose invocation is not valid, of any caller: the name of a session that
// cannot be recorded as it is never latches another one, or all.
func TestInvalidRefusalLatchesNoRuntime(t *testing.T) {
	h := newHost(t, nil)
	for _, session := range []string{"", "s\x00", "\u202e", strings.Repeat("s", phases.MaxIDBytes+1)} {
		r := garbage(session)
		r.Unread = false
		if v, _ := h.Refuse(t.Context(), r); v.Decision != phases.Block || v.Enforced != phases.EnforcedNone {
			t.Errorf("session %q: %+v", session, v)
		}
	}
	if ls, _ := h.Latches(t.Context()); len(ls) != 0 {
		t.Errorf("latches %+v", ls)
	}
	valid := garbage("")
	valid.Unread, valid.Invocation = false, invocation(phases.PrePlan)
	valid.Invocation.Session = ""
	if v, _ := h.Refuse(t.Context(), valid); v.Enforced != phases.EnforcedLatched {
		t.Errorf("a valid one of a runtime that names no sessions: %+v", v)
	}
}

// An invocation that is not valid is garbage as well.
func TestInvalidInvocationLatchesNoRuntime(t *testing.T) {
	h := newHost(t, nil)
	for _, inv := range []phases.Invocation{
		{Phase: "nonsense", Runtime: "custom"},
		{Phase: phases.PrePlan, Runtime: "custom", Session: "s\x00", Action: invocation(phases.PrePlan).Action},
		{Phase: phases.PrePlan, Runtime: "custom", Action: invocation(phases.PrePlan).Action,
			Metadata: map[string]jsontext.Value{kernel.CallerKey: []byte(`1`)}},
	} {
		if v, err := h.InvokeWith(t.Context(), inv, unblockable); v.Decision != phases.Block || err == nil {
			t.Errorf("%+v, %v", v, err)
		}
	}
	if ls, _ := h.Latches(t.Context()); len(ls) != 0 {
		t.Errorf("latches %+v", ls)
	}
}

// A note and a latch of a whole runtime, as they were made before, still hold it until
// they are cleared.
func TestOldRuntimeLatchesHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool.jsonl")
	h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.SpoolPath = path })
	old := notes.Note{Time: h.clock.Now(), Runtime: "custom", Kind: phases.KindProtocol,
		Reason: "the payload could not be read", Unblockable: true}
	if err := notes.Append(path, old); err != nil {
		t.Fatal(err)
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Enforced != phases.EnforcedLatched {
		t.Errorf("%+v", v)
	}
	if err := h.ClearLatch(t.Context(), wire.Session{Runtime: "custom"}, "uid 1", nil); err != nil {
		t.Fatal(err)
	}
	if v := h.invoke(t, invocation(phases.PreTool)); v.Decision != phases.Allow {
		t.Errorf("%+v", v)
	}
}
