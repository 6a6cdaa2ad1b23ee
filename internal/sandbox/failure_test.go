package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// outcome is all that one run shows, but for the time it took.
type outcome struct {
	Kind    phases.Kind // empty: none
	Text    string
	Cause   string
	Report  Report
	Effects []phases.Effect
	Notes   []string
	Logs    []hostcalls.LogEntry
	Dropped int
	Fail    string
}

// run makes one run and collects its outcome.
func run(t testing.TB, m *Module, req RunRequest, action string) outcome {
	t.Helper()
	s := session(t, req.Phase, action)
	req.Session = s
	rep, err := m.Run(context.Background(), req)
	rep.Duration, rep.Waited, rep.Worked = 0, 0, 0
	o := outcome{Report: rep, Effects: s.Effects(), Notes: s.Notes(), Logs: s.Logs(), Dropped: s.LogsDropped(),
		Fail: s.FailText()}
	if f := faultOf(t, err); f != nil {
		o.Kind, o.Text = f.Kind, f.Text
		if f.Cause != nil {
			o.Cause = f.Cause.Error()
		}
	}
	return o
}

// everywhere runs on both engines and with slices of several lengths, twice each,
// and wants the same outcome of all.
func everywhere(t testing.TB, file []byte, req RunRequest, action string) outcome {
	t.Helper()
	var first *outcome
	for _, interpreter := range []bool{false, true} {
		m := load(t, open(t, Options{Interpreter: interpreter}), file)
		for _, slice := range []int64{0, 0, 1000, 1 << 40} {
			req.Slice = slice
			got := run(t, m, req, action)
			if first == nil {
				first = &got
			} else if d := cmp.Diff(*first, got); d != "" {
				t.Errorf("%s, interpreter %v, slice %d:\n%s", req.Phase, interpreter, slice, d)
			}
		}
	}
	return *first
}

// Every way to fail has one kind, the same on both engines and for every slice,
// with a text that says nothing about the guest.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		guest string
		phase phases.Phase
		kind  phases.Kind
		cause string // in the cause
	}{
		{"traps", phases.PrePlan, phases.KindTrap, `unreachable in "crash_here"`},
		{"traps", phases.PreSend, phases.KindTrap, "integer divide by zero in func "},
		{"traps", phases.PostReceive, phases.KindTrap, "out of bounds memory access"},
		{"traps", phases.PreTool, phases.KindTrap, "invalid table access"},
		{"traps", phases.PostTool, phases.KindTrap, "indirect call type mismatch"},
		{"traps", phases.StateTransition, phases.KindTrap, "invalid conversion to integer"},
		{"traps", phases.Spawn, phases.KindTrap, "abort"},
		{"traps", phases.Audit, phases.KindTrap, "unreachable"},

		{"hogs", phases.PrePlan, phases.KindFuel, "fuel"},
		{"hogs", phases.PreSend, phases.KindFuel, "fuel"},
		{"hogs", phases.PostReceive, phases.KindMemory, "stack"},
		{"hogs", phases.PreTool, phases.KindFuel, "fuel"},
		{"hogs", phases.PostTool, phases.KindMemory, "after memory.grow was refused"},
		{"hogs", phases.StateTransition, "", ""},
		{"hogs", phases.Spawn, phases.KindFuel, "fuel"},

		{"effects", phases.PrePlan, phases.KindOutput, `pre_plan returned 7; the hook says "sorry\u{1b}[31m, I can"`},
		{"effects", phases.PreSend, "", ""},
		{"effects", phases.PostReceive, phases.KindOutput, "proc_exit"},
		{"effects", phases.PreTool, phases.KindOutput, "grant"},
		{"effects", phases.PostTool, phases.KindOutput, "add_context"},
		{"effects", phases.StateTransition, phases.KindOutput, "rewrite"},
		{"effects", phases.Spawn, phases.KindOutput, "add_context"},
		{"effects", phases.Audit, "", ""},

		{"pointers", phases.PrePlan, phases.KindHostcall, "log: range of 1 bytes at 4294967295"},
		{"pointers", phases.PreSend, phases.KindHostcall, "log: range of 0 bytes at 65537"},
		{"pointers", phases.PostReceive, phases.KindHostcall, "input_read: range of 2 bytes at 65535"},
		{"pointers", phases.PreTool, phases.KindHostcall, "random: range of 7 bytes at 65530"},
		{"pointers", phases.PostTool, phases.KindHostcall, "input_get: range of 4294967288 bytes at 8"},
		{"pointers", phases.StateTransition, phases.KindHostcall, "fd_write: range of 100 bytes at 65530"},
		{"pointers", phases.Spawn, phases.KindHostcall, "log: range of 4294967280 bytes at 16"},
		{"pointers", phases.Audit, "", ""},

		{"start_loop", phases.PreTool, phases.KindFuel, "fuel"},
		{"init_effect", phases.PreTool, phases.KindHostcall, "block during start or _initialize"},
		{"init_order", phases.PreTool, "", ""},
		{"wasi", phases.PreTool, "", ""},
		{"guard", phases.PreTool, "", ""},
		{"loops", phases.PrePlan, phases.KindFuel, "fuel"},
		{"loops", phases.PreSend, "", ""},
	} {
		t.Run(fmt.Sprintf("%s/%s", c.guest, c.phase), func(t *testing.T) {
			t.Parallel()
			fuel := int64(1 << 20)
			if c.guest == "hogs" && (c.phase == phases.PostTool || c.phase == phases.StateTransition) {
				fuel *= 3 // a page costs 4,096
			}
			got := everywhere(t, guest(t, c.guest), RunRequest{Phase: c.phase, Fuel: fuel, Timeout: -1}, lsAction)
			if got.Kind != c.kind || !strings.Contains(got.Cause, c.cause) {
				t.Errorf("%q %q %q (returned %d)\nwant %q with %q", got.Kind, got.Text, got.Cause, got.Report.ReturnCode, c.kind,
					c.cause)
			}
			if got.Report.Fuel <= 0 {
				t.Error("no fuel used")
			}
			if c.kind == phases.KindFuel && (got.Report.Fuel <= fuel || got.Report.Fuel > 2*fuel) {
				t.Errorf("used %d of %d", got.Report.Fuel, fuel)
			}
		})
	}
}

// What hogs get is bounded: log lines and effects by number, memory by the cap.
func TestFloods(t *testing.T) {
	m := load(t, open(t, Options{}), guest(t, "hogs"))
	o := run(t, m, RunRequest{Phase: phases.Audit, Timeout: -1}, lsAction)
	if o.Kind != "" || len(o.Logs) != hostcalls.DefaultLimits().Logs || o.Dropped != 1000-len(o.Logs) ||
		o.Report.Hostcalls != 2000 {
		t.Errorf("%q %d lines, %d dropped, %d calls", o.Kind, len(o.Logs), o.Dropped, o.Report.Hostcalls)
	}
	o = run(t, m, RunRequest{Phase: phases.StateTransition, Timeout: -1}, lsAction)
	if limit := DefaultMemoryCap; o.Kind != "" || o.Report.MemoryPeak > limit || o.Report.MemoryPeak < limit-16*pageSize {
		t.Errorf("%q, %d bytes of %d", o.Kind, o.Report.MemoryPeak, limit)
	}
}

// The deadline holds for loops, for call trees without loops, for bulk operations
// and for endless hostcalls, and the caller's context ends a run, too.
func TestDeadline(t *testing.T) {
	m := load(t, open(t, Options{}), guest(t, "hogs"))
	for _, p := range []phases.Phase{phases.PrePlan, phases.PreSend, phases.PreTool, phases.Spawn} {
		o := run(t, m, RunRequest{Phase: p, Fuel: 1 << 60, Timeout: 5 * time.Millisecond}, lsAction)
		if o.Kind != phases.KindDeadline || o.Report.Fuel <= 0 {
			t.Errorf("%s: %q %q, fuel %d", p, o.Kind, o.Cause, o.Report.Fuel)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("the agent is gone")
	go func() {
		time.Sleep(5 * time.Millisecond)
		cancel(why)
	}()
	_, err := m.Run(ctx,
		RunRequest{Phase: phases.PrePlan, Fuel: 1 << 60, Timeout: -1, Session: session(t, phases.PrePlan, lsAction)})
	if f := faultOf(t, err); f == nil || f.Kind != phases.KindDeadline || !errors.Is(err, why) {
		t.Error(err)
	}
	// After that, nothing is started any more.
	if _, err := m.Run(ctx,
		RunRequest{Phase: phases.StateTransition,
			Session: session(t, phases.StateTransition, lsAction)}); phases.FaultOf(err).Kind != phases.KindDeadline {
		t.Error(err)
	}
}

// start, _initialize and the phase run in that order on one instance, under one
// budget; each run starts anew.
func TestInitialisation(t *testing.T) {
	m := load(t, open(t, Options{}), guest(t, "init_order"))
	var fuel int64
	for range 3 {
		o := run(t, m, RunRequest{Phase: phases.PreTool}, lsAction)
		want := []hostcalls.LogEntry{{Level: 1, Text: "0b"}, {Level: 1, Text: "1c"}, {Level: 1, Text: "2d"}}
		if d := cmp.Diff(want, o.Logs); d != "" || o.Kind != "" {
			t.Errorf("%q %s: %s", o.Kind, o.Cause, d)
		}
		if fuel != 0 && o.Report.Fuel != fuel {
			t.Errorf("fuel %d, before %d", o.Report.Fuel, fuel)
		}
		fuel = o.Report.Fuel
	}
	// A budget for two thirds of it ends in the phase.
	if o := run(t, m, RunRequest{Phase: phases.PreTool, Fuel: fuel - 1}, lsAction); o.Kind != phases.KindFuel ||
		len(o.Logs) < 2 {
		t.Errorf("%q, %d lines", o.Kind, len(o.Logs))
	}
	if o := run(t, m, RunRequest{Phase: phases.PreTool, Fuel: fuel}, lsAction); o.Kind != "" {
		t.Errorf("the exact budget is not enough: %q %s", o.Kind, o.Cause)
	}
}

// The last stretch of a function has no check behind it: its cost counts all
// the same, and a budget that is one short fails when the guest has returned.
func TestLastStretch(t *testing.T) {
	file := reparse(t, caller(t, "pre_tool", false))
	var body []byte
	emit := func(op wasm.Op, v uint64) {
		body = wasm.AppendInstr(body, &wasm.Instr{Op: op, Bits: v, Block: wasm.BlockEmpty})
	}
	emit(wasm.OpBlock, 0)
	emit(wasm.OpI32Const, 0)
	emit(wasm.OpBrIf, 0)
	emit(wasm.OpEnd, 0)
	for range 50 {
		emit(wasm.OpI32Const, 1)
		emit(wasm.OpDrop, 0)
	}
	emit(wasm.OpI32Const, 0)
	emit(wasm.OpEnd, 0)
	file.Funcs[0].Body = body
	m := load(t, open(t, Options{}), encode(t, file))
	whole := run(t, m, RunRequest{Phase: phases.PreTool}, lsAction)
	if whole.Kind != "" || whole.Report.Fuel < 100 {
		t.Fatalf("%+v", whole)
	}
	for less, want := range map[int64]phases.Kind{0: "", 1: phases.KindFuel, 50: phases.KindFuel} {
		o := run(t, m, RunRequest{Phase: phases.PreTool, Fuel: whole.Report.Fuel - less}, lsAction)
		if o.Kind != want || o.Report.Fuel != whole.Report.Fuel {
			t.Errorf("%d less: %q, used %d of %d", less, o.Kind, o.Report.Fuel, whole.Report.Fuel)
		}
	}
}

func TestNoSuchPhaseAndClosed(t *testing.T) {
	e := open(t, Options{})
	m := load(t, e, guest(t, "guard"))
	_, err := m.Run(context.Background(), RunRequest{Phase: phases.Audit, Session: session(t, phases.Audit, lsAction)})
	if f := faultOf(t, err); f == nil || f.Kind != phases.KindLoad {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = m.Run(context.Background(), RunRequest{Phase: phases.PreTool, Session: session(t, phases.PreTool, lsAction)})
	if f := faultOf(t, err); f == nil || f.Kind != phases.KindLoad || !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := e.Load(context.Background(), guest(t, "guard"), LoadOptions{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestPhaseThatIsNotServed: a module is not started for a phase that it has no export for, and says so.
func TestPhaseThatIsNotServed(t *testing.T) {
	m := load(t, open(t, Options{}), encode(t, reparse(t, caller(t, "pre_tool", false))))
	_, err := m.Run(t.Context(),
		RunRequest{Phase: phases.Spawn, Session: session(t, phases.Spawn, lsAction), Fuel: 1 << 20, Timeout: -1})
	var f *phases.Fault
	if !errors.As(err, &f) || f.Kind != phases.KindLoad || f.Text != textNoPhase ||
		!strings.Contains(fmt.Sprint(f.Cause), "no export for the phase") {
		t.Errorf("%v", err)
	}
}
