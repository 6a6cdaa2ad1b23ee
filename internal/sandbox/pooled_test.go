package sandbox

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// freshOf is the part of a module's instances that makes fresh ones.
func freshOf(m *Module) *freshInstances {
	if p, ok := m.instances.(*pooledInstances); ok {
		return p.fresh
	}
	return m.instances.(*freshInstances)
}

// resets are the ways to restore instances that this system has, which must all come to the same.
func resets(t testing.TB) []Reset {
	t.Helper()
	best := ResetCopy
	found := open(t, Options{reset: &best}).Reset()
	var out []Reset
	for r := ResetNone; r <= found; r++ {
		out = append(out, r)
	}
	return out
}

// idle returns how many instances of a module wait for a run, and whether it has an initial state.
func idle(t testing.TB, m *Module) (instances int, warm bool) {
	t.Helper()
	p, ok := m.instances.(*pooledInstances)
	if !ok {
		return 0, false
	}
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	return len(p.idle), p.state != nil
}

// statePhases are the phases of the state guests, those that end well first.
var statePhases = []phases.Phase{phases.PreTool, phases.PostTool, phases.PrePlan, phases.PreSend,
	phases.StateTransition, phases.PostReceive, phases.Spawn, phases.Audit}

// A run finds memory, globals, tables and segments as start and _initialize left them, whatever the run before it did
// to them and however that ended.
func TestNothingIsLeftForTheNextRun(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		for _, reset := range resets(t) {
			e := open(t, Options{Interpreter: interpreter, reset: &reset})
			for _, name := range []string{
				"state", "state_v128", "state_ref", "state_table", "state_elem", "state_data",
			} {
				m := load(t, e, guest(t, name))
				served := m.Info().Phases
				for _, before := range served {
					for _, after := range served {
						runState(t, m, name, before)
						runState(t, m, name, after)
					}
				}
				_, warm := idle(t, m)
				if restorable := name == "state"; warm != (restorable && reset != ResetNone) {
					t.Errorf("%s: an initial state is kept: %v (%v)", name, warm, reset)
				}
			}
		}
	}
}

// runState runs a phase of a state guest and reports what it found changed.
func runState(t testing.TB, m *Module, name string, p phases.Phase) {
	want := phases.Kind("")
	switch p {
	case phases.Spawn:
		want = phases.KindTrap
	case phases.Audit:
		want = phases.KindFuel
	}
	o := run(t, m, RunRequest{Phase: p, Fuel: 1 << 17, Timeout: -1}, lsAction)
	if o.Kind != want || o.Report.ReturnCode != 0 {
		t.Errorf("%s, %s, %v: %q %s", name, p, m.engine.Reset(), o.Kind, o.Cause)
	}
}

// The same with 8,000 runs at once, of two modules that share their code. What waits afterwards is bounded.
func TestNothingIsLeftForTheNextRunBesideOthers(t *testing.T) {
	runs := 8000
	if testing.Short() {
		runs = 800
	}
	for _, reset := range resets(t)[1:] {
		e := open(t, Options{reset: &reset})
		m := [...]*Module{load(t, e, guest(t, "state")), load(t, e, guest(t, "state"))}
		table := load(t, e, guest(t, "state_table")) // has fresh instances, which takes longer
		served := slices.DeleteFunc(slices.Clone(table.Info().Phases),
			func(p phases.Phase) bool { return p == phases.Audit })
		var ready, done sync.WaitGroup
		begin := make(chan struct{})
		ready.Add(runs)
		for n := range runs {
			done.Go(func() {
				p := statePhases[n*n%(len(statePhases)-1)]
				if n == runs/2 { // once, since it takes long
					p = phases.Audit
				}
				ready.Done()
				<-begin
				if n%16 == 1 {
					runState(t, table, "state_table", served[n/16%len(served)])
					return
				}
				runState(t, m[n%2], "state", p)
			})
		}
		ready.Wait()
		close(begin)
		done.Wait()
		runState(t, m[0], "state", phases.PreTool)
		if n, warm := idle(t, m[1]); n == 0 || n > maxIdleOfModule || !warm {
			t.Errorf("%v: %d instances wait, warm: %v", reset, n, warm)
		}
		if held := sum(t, e.pool); held > maxIdleOfModule<<20 {
			t.Errorf("%v: %d bytes are held", reset, held)
		}
	}
}

// What is known of a turn after it: all that a recording or a report could hold.
type turn struct {
	Outcome outcome
	Trace   hostcalls.Trace
	Clocks  [2]int64
}

func traced(t testing.TB, m *Module, req RunRequest, change func(*hostcalls.SessionConfig)) turn {
	t.Helper()
	var out turn
	s := sessionWith(t, req.Phase, lsAction, func(c *hostcalls.SessionConfig) {
		*c = c.Record(&out.Trace)
		if change != nil {
			change(c)
		}
	})
	req.Session = s
	rep, err := m.Run(context.Background(), req)
	rep.Duration, rep.Waited, rep.Worked = 0, 0, 0
	out.Outcome = outcome{Report: rep, Effects: s.Effects(), Notes: s.Notes(), Logs: s.Logs(), Dropped: s.LogsDropped(),
		Fail: s.FailText()}
	out.Clocks[0], out.Clocks[1] = s.WASIClock()
	if f := faultOf(t, err); f != nil {
		out.Outcome.Kind, out.Outcome.Text, out.Outcome.Cause = f.Kind, f.Text, f.Cause.Error()
	}
	return out
}

func diff(want, got turn) string { return cmp.Diff(want, got, cmp.AllowUnexported(hostcalls.Trace{})) }

// alwaysFresh are the modules of testdata that never have a pooled instance, and why. All others do, the hostile ones
// too: each run starts from a restored state.
var alwaysFresh = map[string]string{
	"init_effect": "initialisation fails",
	"start_loop":  "initialisation does not end",
	"state_data":  "a data segment is dropped",
	"state_elem":  "an element segment is dropped",
	"state_ref":   "a global holds a reference",
	"state_table": "a table changes",
	"state_v128":  "a global holds a vector",
}

// A run on a pooled instance is to the last unit and byte the run that it would be on a fresh one: fuel, memory, calls,
// logs, clocks, random bytes, and where a small budget ends it, with every slice.
func TestPooledRunsAreAsFreshOnes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	const most = 1 << 16
	for _, interpreter := range []bool{false, true} {
		for _, reset := range resets(t)[1:] {
			none := ResetNone
			fresh := open(t, Options{Interpreter: interpreter, reset: &none})
			e := open(t, Options{Interpreter: interpreter, reset: &reset})
			for _, path := range files {
				name := strings.TrimSuffix(filepath.Base(path), ".wasm")
				one, other := load(t, fresh, guest(t, name)), load(t, e, guest(t, name))
				for _, p := range other.Info().Phases {
					all := traced(t, one, RunRequest{Phase: p, Fuel: most, Timeout: -1}, nil).Outcome.Report.Fuel
					for n, fuel := range []int64{most, most, 1, all / 3, all - 1, all, all + 1, most} {
						for _, slice := range []int64{0, all/2 + 1}[:1+n%2] {
							req := RunRequest{Phase: p, Fuel: max(fuel, 1), Slice: slice, Timeout: -1}
							if d := diff(traced(t, one, req, nil), traced(t, other, req, nil)); d != "" {
								t.Fatalf("%s, %s, fuel %d, slice %d, interpreter %v, %v: %s", name, p, fuel, slice,
									interpreter, reset, d)
							}
						}
					}
				}
				why, alone := alwaysFresh[name]
				if _, warm := idle(t, other); warm == alone {
					t.Errorf("%s, interpreter %v, %v: an initial state is kept: %v (%s)", name, interpreter, reset, warm, why)
				}
			}
		}
	}
	for name := range alwaysFresh {
		if !slices.Contains(files, filepath.Join("testdata", name+".wasm")) {
			t.Errorf("there is no module %s", name)
		}
	}
}

// What initialisation did is part of each run, as far as the run's own session goes: with its limits and its tap. A
// session in which it could see something else has it run.
func TestInitialisationIsRepeated(t *testing.T) {
	few := hostcalls.DefaultLimits()
	few.Logs = 2
	for name, c := range map[string]struct {
		change func(*hostcalls.SessionConfig)
		fits   bool
	}{
		"as it was":      {nil, true},
		"fewer lines":    {func(c *hostcalls.SessionConfig) { c.Limits = few }, true},
		"another seed":   {func(c *hostcalls.SessionConfig) { c.Seed = [32]byte{9} }, true},
		"another module": {func(c *hostcalls.SessionConfig) { c.InitSeed = [32]byte{9} }, false},
		"injected": {func(c *hostcalls.SessionConfig) {
			c.Inject = hostcalls.Injections{{Call: 1, Errno: hostcalls.Budget}}
		}, false},
	} {
		for _, reset := range resets(t)[1:] {
			none := ResetNone
			fresh := load(t, open(t, Options{reset: &none}), guest(t, "init_leaves"))
			m := load(t, open(t, Options{reset: &reset}), guest(t, "init_leaves"))
			p := m.instances.(*pooledInstances)
			for range 4 {
				run(t, m, RunRequest{Phase: phases.PreTool, Timeout: -1}, lsAction)
			}
			for _, phase := range m.Info().Phases {
				before := initializations(p)
				req := RunRequest{Phase: phase, Timeout: -1}
				want, got := traced(t, fresh, req, c.change), traced(t, m, req, c.change)
				if d := diff(want, got); d != "" {
					t.Errorf("%s, %s: %s", name, phase, d)
				}
				if ran := initializations(p) != before; ran == c.fits {
					t.Errorf("%s: initialisation ran: %v", name, ran)
				}
			}
			got := traced(t, m, RunRequest{Phase: phases.PreTool, Timeout: -1}, nil)
			if len(got.Outcome.Logs) < 4 || got.Outcome.Fail != "-cause-" || len(got.Trace.Calls) != 4 ||
				got.Trace.Calls[1].Code >= 0 || got.Clocks[1] < 12345678 {
				t.Errorf("initialisation did less than the test is for: %+v", got)
			}
			if half := got.Outcome.Logs[len(got.Outcome.Logs)-2].Text; !strings.HasPrefix(half, "and half") {
				t.Errorf("the begun line is %q", half)
			}
		}
	}
}

func initializations(p *pooledInstances) int {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	return p.initializations
}

// Only log and fail work during initialisation: a run repeats them, and knows what they answer.
func TestCallsOfInitialisation(t *testing.T) {
	var names []string
	for _, c := range hostcalls.Table() {
		if c.InInit {
			names = append(names, c.Name)
		}
	}
	if want := []string{"log", "fail"}; !slices.Equal(names, want) {
		t.Errorf("initialisation may call %v, not %v: what they answer must be the same in each run", names, want)
	}
	// Of other handlers nothing is known.
	rows := hostcalls.Table()
	n := int64(0)
	for i := range rows {
		if rows[i].Name == "log" {
			rows[i].Handle = func(context.Context, *hostcalls.Session, *hostcalls.Args) (hostcalls.Result, error) {
				n++
				return hostcalls.Result{Code: n}, nil
			}
		}
	}
	best := ResetCopy
	m := load(t, open(t, Options{Table: rows, reset: &best}), guest(t, "init_order"))
	for range 4 {
		run(t, m, RunRequest{Phase: phases.PreTool}, lsAction)
	}
	if _, warm := idle(t, m); warm || n != 4*3 {
		t.Errorf("warm: %v, %d calls", warm, n)
	}
}

// Initialisation that does more than a run repeats has instances of its own each time.
func TestMuchInitialisationIsNotRepeated(t *testing.T) {
	var r initRecord
	for range maxInitSteps {
		r.add(initStep{line: hostcalls.LogEntry{Text: "line"}})
	}
	if r.over || len(r.steps) != maxInitSteps {
		t.Error("as much as there is room for is refused")
	}
	if r.add(initStep{}); !r.over || r.steps != nil {
		t.Error("one more is not")
	}
	r = initRecord{}
	r.called(&hostcalls.Call{}, &hostcalls.Args{In: [2][]byte{make([]byte, maxInitBytes-1), make([]byte, 1)}})
	if r.over {
		t.Error("as many bytes as there is room for are refused")
	}
	if r.add(initStep{line: hostcalls.LogEntry{Text: "x"}}); !r.over {
		t.Error("one byte more is not")
	}
	if r.add(initStep{}); !r.over {
		t.Error("it is forgotten")
	}
}

// An instance that trapped, was ended or grew to its maximum is not used again; any other is.
func TestWhichInstancesAreUsedAgain(t *testing.T) {
	for _, reset := range resets(t)[1:] {
		m := load(t, open(t, Options{reset: &reset}), guest(t, "state"))
		for range 3 {
			runState(t, m, "state", phases.PreTool)
		}
		for _, c := range []struct {
			phase phases.Phase
			idle  int
		}{
			{phases.PreTool, 1}, {phases.Spawn, 0}, {phases.PostTool, 1}, {phases.Audit, 0}, {phases.PreSend, 1},
			{phases.PostReceive, 0}, {phases.StateTransition, 1}, {phases.StateTransition, 1},
		} {
			runState(t, m, "state", c.phase)
			if n, _ := idle(t, m); n != c.idle {
				t.Errorf("%v: after %s %d instances wait, not %d", reset, c.phase, n, c.idle)
			}
		}
	}
}

// A deep recursion leaves no long stack with an instance that waits, whatever engine has run it.
func TestIdleInstancesHaveShortStacks(t *testing.T) {
	for _, interpreter := range []bool{false, true} {
		m := load(t, open(t, Options{Interpreter: interpreter}), guest(t, "hogs"))
		inst, err := m.instances.acquire(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.instances.release(inst, false, time.Now())
		inv := newInvocation(t.Context(), m, &RunRequest{Phase: phases.PostReceive, Timeout: -1,
			Session: session(t, phases.PostReceive, lsAction)}, testTime)
		inv.deadline, inv.inst = testTime.AddDate(9, 0, 0), inst
		if _, f := inv.callExport(inv.callContext(), string(phases.PostReceive), true); f == nil || f.Text != textStack {
			t.Fatal(f)
		}
		inst.function(string(phases.PreSend))
		n := inst.functions[0].stackSize()
		t.Logf("interpreter %v: %d bytes", interpreter, n)
		if n <= maxStack {
			t.Fatalf("interpreter %v: a recursion to the bound left a stack of %d bytes: it is not found where it was",
				interpreter, n)
		}
		inst.dropStacks()
		if len(inst.functions) != 1 || inst.functions[0].name != string(phases.PreSend) {
			t.Errorf("interpreter %v: kept are %v", interpreter, inst.functions)
		}
	}
	if none := (&function{stack: stackOf(nil)}).stackSize(); none != 0 {
		t.Errorf("no function has a stack of %d bytes", none)
	}
}

// The module's first run takes no image, so that a process that runs it once does not pay for one.
func TestFirstRunTakesNoImage(t *testing.T) {
	best := ResetCopy
	m := load(t, open(t, Options{reset: &best}), guest(t, "guard"))
	for n, want := range []string{"0 false", "0 true", "1 true", "1 true"} {
		run(t, m, RunRequest{Phase: phases.PreTool}, lsAction)
		if i, warm := idle(t, m); len(resets(t)) > 1 && fmt.Sprint(i, warm) != want {
			t.Errorf("after %d runs: %d instances wait, warm: %v; want %s", n+1, i, warm, want)
		}
	}
}
