package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// A failure never passes for a decision, and there always is one.
func TestFaultsOfRefusals(t *testing.T) {
	kept := phases.NewFault(phases.KindLoad, "not JSON", nil)
	if orFault(kept) != kept {
		t.Error("another fault")
	}
	for name, f := range map[string]*phases.Fault{"nil": nil, "no kind": {Text: "x"},
		"policy": phases.NewFault(phases.KindPolicy, "x", nil)} {
		got := orFault(f)
		if got == nil || got.Kind != phases.KindProtocol || got.Text == "" || f != nil &&
			(got.Text != "x" || !errors.Is(got, f)) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What holds a session: an unblockable event that names it as it would be recorded, or a
// valid invocation that names none.
func TestWhatLatches(t *testing.T) {
	valid := phases.Invocation{Phase: phases.Audit, Runtime: "custom", Action: []byte(`{"kind":"x"}`)}
	invalid := valid
	invalid.Action = nil
	named, odd := valid, valid
	named.Session, odd.Session = "s", "s\n"
	long := valid
	long.Session = strings.Repeat("s", phases.MaxIDBytes+1)
	longest := valid
	longest.Session = strings.Repeat("s", phases.MaxIDBytes)
	for name, c := range map[string]struct {
		r    Refusal
		want bool
	}{
		"blockable":          {Refusal{Invocation: named}, false},
		"named":              {Refusal{Invocation: named, Unblockable: true}, true},
		"named, unread":      {Refusal{Invocation: named, Unblockable: true, Unread: true}, true},
		"named as another":   {Refusal{Invocation: odd, Unblockable: true}, false},
		"the longest name":   {Refusal{Invocation: longest, Unblockable: true}, true},
		"too long a name":    {Refusal{Invocation: long, Unblockable: true}, false},
		"valid, no name":     {Refusal{Invocation: valid, Unblockable: true}, true},
		"unread, no name":    {Refusal{Invocation: valid, Unblockable: true, Unread: true}, false},
		"not valid, no name": {Refusal{Invocation: invalid, Unblockable: true}, false},
	} {
		if got := c.r.latches(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Fail-open lets failures of a hook itself pass, and no others.
func TestWhichFailuresMayPass(t *testing.T) {
	for kind, want := range map[phases.Kind]bool{
		phases.KindTrap: true, phases.KindFuel: true, phases.KindDeadline: true, phases.KindOutput: true,
		phases.KindLoad:  true,
		phases.KindAudit: false, phases.KindStore: false, phases.KindRollback: false,
	} {
		if got := mayPass(kind); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

type faulty struct{ f *phases.Fault }

func (e faulty) Error() string        { return "x" }
func (e faulty) Fault() *phases.Fault { return e.f }

func TestFaultOfErrors(t *testing.T) {
	f := phases.NewFault(phases.KindFuel, "f", nil)
	if got := faultOf(faulty{f}, phases.KindTrap, "text"); got != f {
		t.Errorf("%+v", got)
	}
	if got := faultOf(fmt.Errorf("in: %w", f), phases.KindTrap, "text"); got != f {
		t.Errorf("%+v", got)
	}
	plain := errors.New("plain")
	if got := faultOf(plain, phases.KindTrap, "text"); got.Kind != phases.KindTrap || got.Text != "text" ||
		!errors.Is(got, plain) {
		t.Errorf("%+v", got)
	}
}

// What a hook's turn leaves for the record: its report, its logs, the cause of a failure.
func TestTurnsOnRecord(t *testing.T) {
	b := &binding{spec: BindingSpec{Name: "b"}, digest: "d", tier: phases.Trusted, mode: phases.Enforce,
		loaded: &Loaded{Version: "1.2.3", Signer: "me"}}
	out := Outcome{Effects: []phases.Effect{{Kind: phases.EffectBlock, Text: "no"}}, Fuel: 3, MemoryPeak: 4, Hostcalls: 5,
		Duration: 6 * time.Microsecond,
		Logs: []hostcalls.LogEntry{{Level: -1, Text: "a"}, {Level: 0, Text: "b"}, {Level: 1, Text: "c"},
			{Level: 2, Text: "d"}, {Level: 3, Text: "e"}, {Level: 4, Text: "f"}},
		LogsDropped: 1}
	var c chain
	rep := c.report(b, phases.PassValidate, turnResult{outcome: out},
		phases.TurnResult{Decision: phases.HookBlock, Reason: "no", Kind: phases.KindPolicy}, []string{"n"})
	want := phases.HookReport{Hook: "b", Digest: "d", Version: "1.2.3", Tier: phases.Trusted, Mode: phases.Enforce,
		Pass: phases.PassValidate, Decision: phases.HookBlock, Reason: "no",
		Effects: phases.CleanEffects(out.Effects), Fuel: 3, MemoryPeak: 4, Hostcalls: 5, DurationUS: 6, Notes: []string{"n"}}
	if got := fmt.Sprintf("%+v", rep); got != fmt.Sprintf("%+v", want) {
		t.Errorf("%s, want %+v", got, want)
	}
	failed := c.report(b, phases.PassValidate, turnResult{outcome: out},
		phases.TurnResult{Decision: phases.HookError, Kind: phases.KindTrap}, nil)
	if failed.Kind != phases.KindTrap || failed.Effects == nil || len(failed.Effects) != 0 {
		t.Errorf("%+v", failed)
	}
	b.loaded = nil
	if rep := c.report(b, phases.PassValidate, turnResult{}, phases.TurnResult{}, nil); rep.Version != "" ||
		rep.Effects == nil {
		t.Errorf("%+v", rep)
	}
	b.loaded = &Loaded{Signer: "me"}
	cause := errors.New("the cause")
	r := turnResult{input: []byte("in"), outcome: out, fault: phases.NewFault(phases.KindTrap, "text", cause)}
	turn := auditTurn(b, rep, r)
	if turn.Signer != "me" || turn.Detail != "the cause" || string(turn.Input) != "in" ||
		strings.Join(turn.Logs,
			"; ") != "debug: a; debug: b; info: c; warn: d; error: e; error: f; (1 entries were cut or dropped)" {
		t.Errorf("%+v", turn)
	}
	r.outcome.Detail, r.outcome.LogsDropped, r.outcome.Logs = "of its own", 0, nil
	b.loaded = nil
	if turn := auditTurn(b, rep, r); turn.Detail != "of its own" || turn.Logs != nil || turn.Signer != "" {
		t.Errorf("%+v", turn)
	}
	r.outcome.Detail, r.fault = "", phases.NewFault(phases.KindTrap, "text", nil)
	if turn := auditTurn(b, rep, r); turn.Detail != "" {
		t.Errorf("%+v", turn)
	}
	r.fault = nil
	if turn := auditTurn(b, rep, r); turn.Detail != "" {
		t.Errorf("%+v", turn)
	}
}

// The time of a turn is its own and that of the hooks which ran on its behalf, without waiting.
func TestTimeOfTurns(t *testing.T) {
	r := turnResult{outcome: Outcome{Duration: 10, Waited: 4}, nested: 3}
	if got := r.took(); got != 9 {
		t.Errorf("%d", got)
	}
	began := time.Now().Add(-time.Hour)
	s := &turnScope{began: began, time: 2 * time.Hour, waiting: began.Add(30 * time.Minute), waited: 10 * time.Minute,
		nested: 5 * time.Minute}
	if got, want := s.left(), 2*time.Hour-(30*time.Minute-10*time.Minute)-5*time.Minute; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	s.take(time.Minute)
	if s.taken() != 6*time.Minute {
		t.Errorf("%v", s.taken())
	}
	s = &turnScope{began: began, time: 2 * time.Hour}
	if got := s.left(); got > time.Hour || got < time.Hour-time.Minute {
		t.Errorf("%v", got)
	}
	done, ok := s.wait()
	if !ok || s.waiting.IsZero() {
		t.Error("it does not wait")
	}
	s.waiting = s.waiting.Add(-time.Minute)
	if done(); !s.waiting.IsZero() || s.waited < time.Minute || s.waited > 2*time.Minute {
		t.Errorf("waited %v", s.waited)
	}
	k := &Kernel{}
	if scopeOf(context.Background(), k) != nil || insideTurn(context.Background(), k) {
		t.Error("inside of no turn")
	}
	s.kernel = k
	ctx := context.WithValue(context.Background(), turnKey{}, s)
	if scopeOf(ctx, k) != s || !insideTurn(ctx, k) || scopeOf(ctx, &Kernel{}) != nil {
		t.Error("a turn belongs to its kernel")
	}
}

// A shadow never reads or writes what enforcing hooks do.
func TestNamespaces(t *testing.T) {
	for _, c := range []struct {
		spec BindingSpec
		mode phases.Mode
		want string
	}{
		{BindingSpec{Name: "n"}, phases.Enforce, "n"}, {BindingSpec{Name: "n", State: "s"}, phases.Enforce, "s"},
		{BindingSpec{Name: "n"}, phases.Observe, "observe:n"},
		{BindingSpec{Name: "n", State: "s"}, phases.Observe, "observe:s"},
	} {
		if got := namespace(&binding{spec: c.spec, mode: c.mode}); got != c.want {
			t.Errorf("%+v %s: %s, want %s", c.spec, c.mode, got, c.want)
		}
	}
}

// Each class of errors about leases has an errno of its own; errors of the store end the turn.
func TestRefusalsOfLeaseCalls(t *testing.T) {
	for class, want := range map[error]hostcalls.Errno{
		leases.ErrUnknown: hostcalls.Absent, leases.ErrInvalid: hostcalls.Invalid, leases.ErrQuota: hostcalls.Budget,
		leases.ErrWider: hostcalls.Denied, leases.ErrOver: hostcalls.Denied,
	} {
		err := refusal(&leases.Error{Class: class, Text: "why\n"})
		var r *hostcalls.Refusal
		if !errors.As(err, &r) || r.Errno != want {
			t.Errorf("%v: %v", class, err)
			continue
		}
		var doc struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(r.Reply, &doc); err != nil || doc.Error != phases.SafeLine("why\n", 512) {
			t.Errorf("%v: %s, %v", class, r.Reply, err)
		}
	}
	if err := refusal(ErrUnavailable); err != ErrUnavailable {
		t.Error(err)
	}
	if got, err := reply(map[string]int{"a": 1}, nil); err != nil || string(got) != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := reply(map[string]int{"a": 1}, ErrUnavailable); got != nil || err != ErrUnavailable {
		t.Errorf("%s, %v", got, err)
	}
}

// Defaults of options, and what cannot be left out.
func TestDefaultsOfOptions(t *testing.T) {
	full := Options{Store: &shelf{}, Loader: loaderFunc(nil), Redactor: plain{}}
	for name, change := range map[string]func(*Options){
		"store": func(o *Options) { o.Store = nil }, "loader": func(o *Options) { o.Loader = nil },
		"redactor": func(o *Options) { o.Redactor = nil },
	} {
		o := full
		change(&o)
		if _, err := o.withDefaults(); err == nil {
			t.Errorf("no %s", name)
		}
	}
	o, err := full.withDefaults()
	if err != nil || o.Clock == nil || o.Logger == nil || o.NewID == nil || o.Boot == nil || o.Digester == nil ||
		len(o.LeaseKey) != 32 || string(o.LeaseKey) == string(make([]byte, 32)) {
		t.Fatalf("%+v, %v", o, err)
	}
	if got := o.Clock.Now(); time.Since(got) > time.Minute || time.Since(got) < 0 {
		t.Errorf("the clock says %v", got)
	}
	at := time.UnixMilli(1_700_000_000_000)
	id := o.NewID(at)
	if got, err := idTime(id); err != nil || !got.Equal(at) || id == o.NewID(at) {
		t.Errorf("%s is of %v, %v", id, got, err)
	}
	for _, bad := range []string{"", "x", "00000000-0000-4000-8000-000000000000"} {
		if _, err := idTime(bad); err == nil {
			t.Errorf("%q has a time", bad)
		}
	}
	other, err := full.withDefaults()
	for _, u := range audit.Uses() {
		if mine := o.Digester.Digest(u, []byte("a")); err != nil || mine == other.Digester.Digest(u, []byte("a")) ||
			mine != o.Digester.Digest(u, []byte("a")) {
			t.Errorf("%s: two processes have the same key, or one has two: %v", u, err)
		}
	}
	mine := slog.New(slog.DiscardHandler)
	full.Logger, full.Clock, full.LeaseKey, full.Digester = mine, leases.SystemClock{}, []byte("key"), o.Digester
	full.NewID = func(time.Time) string { return "id" }
	if o, err := full.withDefaults(); err != nil || o.Logger != mine || string(o.LeaseKey) != "key" ||
		o.NewID(at) != "id" {
		t.Errorf("%+v, %v", o, err)
	}
}

type plain struct{}

func (plain) JSON(v jsontext.Value) (jsontext.Value, []string, error) { return v, nil, nil }
func (plain) Text(s string) (string, error)                           { return s, nil }

// What a binding is told of, in the recording of a chain.
func TestRecordedBindings(t *testing.T) {
	ours, theirs := tiers.Match{Tools: "ours"}, tiers.Match{Tools: "theirs"}
	l := &Loaded{Version: "1", Signer: "me", Mutates: []phases.Phase{phases.PreTool}, Imports: []string{"i"},
		Capabilities: []string{"c"}, Notes: []string{"n"}, Match: theirs}
	b := &binding{spec: BindingSpec{Name: "b", Priority: 3, Config: []byte("{}"), State: "s", Allowed: []string{"a"},
		Budget: tiers.Budget{Fuel: 1}}, digest: "d",
		tier: phases.Trusted, mode: phases.Observe, phases: []phases.Phase{phases.PreTool}, fuel: 4, timeout: 5, loaded: l}
	r := b.recorded()
	if r.Name != "b" || r.Priority != 3 || string(r.Config) != "{}" || r.State != "s" ||
		!slices.Equal(r.Allowed, []string{"a"}) || r.Budget.Fuel != 1 || r.Digest != "d" || r.Tier != phases.Trusted ||
		r.Mode != phases.Observe || len(r.Phases) != 1 || r.Fuel != 4 || r.Timeout != 5 || r.Version != "1" ||
		r.Signer != "me" || len(r.Mutates) != 1 || r.Imports[0] != "i" ||
		r.Held[0] != "c" || r.Notes[0] != "n" || r.Match.Tools != "theirs" || r.Failure != nil || r.Trust {
		t.Errorf("%+v", r)
	}
	b.spec.Match = &ours
	if r := b.recorded(); r.Match.Tools != "ours" {
		t.Errorf("%+v", r)
	}
	b.loaded, b.fault, b.trust = nil, phases.NewFault(phases.KindLoad, "f", nil), true
	if r := b.recorded(); r.Match.Tools != "ours" || r.Failure != b.fault || !r.Trust || r.Version != "" {
		t.Errorf("%+v", r)
	}
}

// bothClocks is a clock that tells of the boot, too.
type bothClocks struct{ wallOnly }

func (bothClocks) Boot() (string, time.Duration) { return "b", 7 }

type wallOnly struct{}

func (wallOnly) Now() time.Time { return time.Unix(9, 0) }

// The boot clock belongs to the wall clock: the system's to the system's, that of a program
// to its own, and there is none beside one that is only a wall clock.
func TestWhichBootClock(t *testing.T) {
	_, real := leases.SystemClock{}.Boot()
	for name, c := range map[string]struct {
		clock Clock
		boot  BootClock
		id    string
	}{
		"a program's": {bothClocks{}, nil, "b"}, "none": {wallOnly{}, nil, ""}, "given": {wallOnly{}, bothClocks{}, "b"},
		"given beside one": {bothClocks{}, noBoot{}, ""},
	} {
		o, err := Options{Store: &shelf{}, Loader: loaderFunc(nil), Redactor: plain{}, Clock: c.clock,
			Boot: c.boot}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if id, _ := o.Boot.Boot(); id != c.id {
			t.Errorf("%s: boot %q, want %q", name, id, c.id)
		}
	}
	o, err := Options{Store: &shelf{}, Loader: loaderFunc(nil), Redactor: plain{}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	want, _ := leases.SystemClock{}.Boot()
	if id, since := o.Boot.Boot(); id != want || since < real {
		t.Errorf("the system's: %q %v", id, since)
	}
}
