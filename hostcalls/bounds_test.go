package hostcalls

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

func TestNamesOfErrnos(t *testing.T) {
	for e, want := range map[Errno]string{
		1: "unknown", 0: "ok", Absent: "absent", Denied: "denied", Invalid: "invalid", Budget: "budget",
		TooLarge: "too large", Pending: "pending",
		Unavailable: "unavailable", -8: "unknown",
	} {
		if got := e.String(); got != want {
			t.Errorf("%d is %q, want %q", e, got, want)
		}
		if got := e.Error(); got != "hostcall: "+want {
			t.Errorf("%d as an error is %q", e, got)
		}
	}
	r := &Refusal{Errno: Pending}
	if r.Error() != "hostcall: pending" || !errors.Is(r, Pending) {
		t.Errorf("a refusal is %q", r.Error())
	}
}

// A refused capability has the reason of its own fault.
func TestRefusedCapabilities(t *testing.T) {
	const malformed, free, unknown = "it is malformed", "every hook may call it, it is no capability", "no such capability"
	long := strings.Repeat("x", 64)
	for s, want := range map[string]string{
		"": `capability "": ` + malformed, "Block": `capability "Block": ` + malformed,
		"rewrite:args": `capability "rewrite:args": ` + malformed,
		"log":          `capability "log": ` + free, "input_get": `capability "input_get": ` + free,
		"blok":         `capability "blok": ` + unknown,
		"X" + long[1:]: `capability "X` + long[1:] + `": ` + malformed, "X" + long: `capability "X` + long[1:] + `…": ` +
			malformed,
	} {
		c, err := parseCapability(s)
		if !errors.Is(err, ErrCapability) || err.Error() != want || c != (tiers.Capability{}) {
			t.Errorf("%q: %+v, %v, want %s", s, c, err, want)
		}
		if g, err := ParseGrants([]string{"block", s}); err == nil || g.has("block") {
			t.Errorf("%q among others: %v", s, err)
		}
	}
	if tier, ok := leastTier("log"); ok || tier != "" {
		t.Errorf("log is for %q, %v", tier, ok)
	}
	if tier, ok := leastTier("nothing"); ok || tier != "" {
		t.Errorf("nothing is for %q, %v", tier, ok)
	}
}

// What calls can fail with by themselves, by the rows of the table.
func TestFailuresOfCalls(t *testing.T) {
	effects, analysis := []Errno{Denied, Budget, TooLarge}, []Errno{Denied, Invalid, TooLarge}
	state, port := []Errno{Denied, Budget, Unavailable}, []Errno{Denied, Budget, TooLarge, Pending, Unavailable}
	for name, want := range map[string][]Errno{
		"log": nil, "input_get": nil, "block": effects, "grant": effects, "shell_parse": analysis, "find_secrets": analysis,
		"state_get": state,
		"state_put": state, "request_tool_call": port, "http_request": port, "check_lease": port, "time_now": {Denied},
		"random": {Denied},
	} {
		c, ok := Lookup(name)
		if !ok {
			t.Fatal(name)
		}
		if diff := cmp.Diff(want, c.Failures()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if c.CanBeLong() != (name == "input_get" || name == "state_get") {
			t.Errorf("%s can be long: %v", name, c.CanBeLong())
		}
	}
	if _, ok := Lookup("nothing"); ok {
		t.Error("a call that is not in the table is found")
	}
}

// A call is made too long by one byte, where it has a buffer that can be too short, and for no buffer beyond
// what a host ever answers.
func TestInjectionsOfLongAnswers(t *testing.T) {
	get, _ := Lookup("input_get")
	kind, _ := Lookup("input_kind")
	for _, tc := range []struct {
		name string
		c    *Call
		n    int
		capa uint32
		list Injections
		out  int
		code int64
		ok   bool
	}{
		{"into an empty buffer", &get, 1, 0, Injections{{Call: 1, Long: true}}, 1, 0, true},
		{"into a large buffer", &get, 1, maxLong - 1, Injections{{Call: 1, Long: true}}, maxLong, 0, true},
		{"into the largest", &get, 1, maxLong, Injections{{Call: 1, Long: true}}, 0, 0, false},
		{"without a buffer", &kind, 1, 0, Injections{{Call: 1, Long: true}}, 0, 0, false},
		{"another call", &get, 2, 0, Injections{{Call: 1, Long: true}}, 0, 0, false},
		{"nothing", &get, 1, 0, Injections{{Call: 1}}, 0, 0, false},
		{"an errno", &get, 2, 0, Injections{{Call: 1, Long: true}, {Call: 2, Errno: Budget}}, 0, int64(Budget), true},
	} {
		r, ok := tc.list.Inject(tc.n, tc.c, &Args{Cap: tc.capa})
		if len(r.Out) != tc.out || r.Code != tc.code || ok != tc.ok {
			t.Errorf("%s: %d bytes, %d, %v", tc.name, len(r.Out), r.Code, ok)
		}
	}
}

// Each limit of a turn is held to its bound: as much as it says, and not one more.
func TestBoundsOfTurns(t *testing.T) {
	var zero, negative Limits
	negative.Input, negative.Logs = -1, -1
	want := Limits{Input: 1 << 20, Effects: 64, EffectBytes: 1 << 20, Calls: 32, Reply: 1 << 20, Logs: 64}
	own := Limits{Input: 1, Effects: 2, EffectBytes: 3, Calls: 4, Reply: 5, Logs: 6}
	for got, want := range map[Limits]Limits{zero: want, negative: want, own: own} {
		got.setDefaults()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", got, diff)
		}
	}

	exact := func(c *SessionConfig) { c.Limits.Input = len(preTool) }
	newTurn(t, exact)
	cfg := newTurn(t, nil).cfg
	cfg.Limits.Input = len(preTool) - 1
	if _, err := NewSession(cfg); phases.FaultOf(err) == nil {
		t.Error("an input of one byte more is taken")
	}

	bytes := newTurn(t, func(c *SessionConfig) { c.Limits.EffectBytes = 10 })
	bytes.code(0, "add_context", "12345")
	bytes.code(0, "annotate", "k", "1234")
	bytes.code(Budget, "annotate", "k", "1")

	at := "/args/command"
	most := newTurn(t, nil)
	most.code(0, "rewrite", at, `"`+strings.Repeat("x", MaxEffect-len(at)-2)+`"`, 0)
	most.code(TooLarge, "rewrite", at, `"`+strings.Repeat("x", MaxEffect-len(at)-1)+`"`, 0)

	logs := newTurn(t, func(c *SessionConfig) { c.Limits.Logs = 1 })
	logs.code(0, "log", 0, strings.Repeat("x", MaxLogText))
	logs.code(0, "log", 3, "one more")
	if diff := cmp.Diff([]LogEntry{{Level: 0, Text: strings.Repeat("x", MaxLogText)}}, logs.Logs()); diff != "" ||
		logs.LogsDropped() != 1 {
		t.Errorf("%d dropped (-want +got):\n%s", logs.LogsDropped(), diff)
	}
	levels := newTurn(t, nil)
	for _, level := range []int{-1, 0, 3, 4} {
		levels.Log(level, strings.Repeat("x", MaxLogText+level))
	}
	got := ""
	for _, l := range levels.Logs() {
		got += fmt.Sprint(l.Level, " ", len(l.Text)-MaxLogText, ", ")
	}
	if got != "0 -1, 0 0, 3 0, 3 0, " || levels.LogsDropped() != 2 {
		t.Errorf("levels and lengths beyond the limit: %s; %d dropped", got, levels.LogsDropped())
	}

	reply := newTurn(t, func(c *SessionConfig) { c.Limits.Reply = len(`["a"]`) })
	if r := reply.do("config_keys", ""); r.Code != 5 || reply.reply() != `["a"]` {
		t.Errorf("a reply of as many bytes as there may be: %d %s", r.Code, reply.reply())
	}
	random := newTurn(t, nil)
	if r := random.do("random", MaxRandom); len(r.Out) != MaxRandom || r.Code != 0 {
		t.Errorf("%d random bytes, %d", len(r.Out), r.Code)
	}
	if len(random.Random(-1)) != 0 {
		t.Error("less than nothing")
	}
}

// Text is cut at a limit in bytes, never in the middle of a character.
func TestCuts(t *testing.T) {
	for _, tc := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"aé", 3, "aé"}, {"aé", 2, "a"}, {"é", 1, ""}, {"a\xffb", 5, "a\uFFFDb"},
		{"a\xffb", 4, "a\uFFFD"}, {"a\xffb", 3, "a"}, {"a", 0, ""},
	} {
		if got := cutText(tc.s, tc.n); got != tc.want {
			t.Errorf("%q at %d: %q, want %q", tc.s, tc.n, got, tc.want)
		}
	}
}

// The WASI clocks move by their steps and by what a guest sleeps, from the moment of the invocation and from 0.
func TestClocksOfTheStub(t *testing.T) {
	u := newTurn(t, nil)
	const start = 1_700_000_000_000_000_005
	at := func(wantWall, wantMono int64) {
		t.Helper()
		if wall, mono := u.WASIClock(); wall != start+wantWall || mono != wantMono {
			t.Errorf("the clocks are at %d and %d, want %d and %d", wall-start, mono, wantWall, wantMono)
		}
	}
	at(0, 0)
	if got := u.WASIRealtime(); got != start+1000 {
		t.Errorf("realtime %d", got-start)
	}
	at(1000, 0)
	if got := u.WASIMonotonic(); got != 1000 {
		t.Errorf("monotonic %d", got)
	}
	at(1000, 1000)
	u.WASIAdvance(0)
	u.WASIAdvance(-1)
	u.WASIAdvance(1<<63 - 1) // both would overflow
	at(1000, 1000)
	u.WASIAdvance(1<<63 - 1 - 2000) // the wall clock would
	at(1000, 1000)
	u.WASIAdvance(1)
	at(1001, 1001)
	u.BeginInit()
	if wall, _ := u.WASIClock(); wall != time.Date(2020, 1, 1, 0, 0, 0, 1001, time.UTC).UnixNano() {
		t.Errorf("during init: %d", wall)
	}
}

// What a test of a hook draws before the stream comes first, once.
func TestRandomThatATestGives(t *testing.T) {
	u := newTurn(t, func(c *SessionConfig) { c.Seed, c.Random = [32]byte{1}, []byte("abc") })
	if got := fmt.Sprintf("%s %x", u.Random(3), u.Random(8)); got != "abc "+randomVector {
		t.Errorf("%s", got)
	}
}

// ledger answers each lease call by its name.
type ledger struct{ err error }

func (l ledger) answer(name string) (jsontext.Value, error) {
	return jsontext.Value(`{"by":"` + name + `"}`), l.err
}

func (l ledger) Request(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error) {
	return l.answer("request_lease")
}

func (l ledger) Check(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error) {
	return l.answer("check_lease")
}

func (l ledger) Mint(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error) {
	return l.answer("mint_lease")
}

func (l ledger) Revoke(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error) {
	return l.answer("revoke_lease")
}

// Each lease call goes to its own method and returns that method's answer, traced or not.
func TestLeaseCallsReachTheLedger(t *testing.T) {
	var tr Trace
	for _, change := range []func(*SessionConfig){
		func(c *SessionConfig) { c.Leases = ledger{} },
		func(c *SessionConfig) { c.Leases = ledger{}; *c = c.Record(&tr) },
	} {
		u := newTurn(t, change)
		for _, name := range []string{"request_lease", "check_lease", "mint_lease", "revoke_lease"} {
			want := `{"by":"` + name + `"}`
			if r := u.do(name, `{"q":1}`); r.Code != int64(len(want)) || u.reply() != want {
				t.Errorf("%s: %d %s", name, r.Code, u.reply())
			}
		}
	}
	got := ""
	for _, a := range tr.Answers {
		got += fmt.Sprintf("%s %s %s; ", a.Port, a.Request, a.Reply)
	}
	want := ""
	for _, name := range []string{"request_lease", "check_lease", "mint_lease", "revoke_lease"} {
		want += name + ` {"q":1} {"by":"` + name + `"}; `
	}
	if got != want || len(tr.Ports) != 1 || tr.Ports[0] != "leases" {
		t.Errorf("traced %s by %v, want %s", got, tr.Ports, want)
	}
}

// What a port answers, or fails with, is what the guest gets, or why its turn ends.
func TestAnswersOfPorts(t *testing.T) {
	fault := func(k phases.Kind) error { return phases.NewFault(k, "text", nil) }
	for _, tc := range []struct {
		name  string
		reply string
		err   error
		code  Errno
		kind  phases.Kind
	}{
		{"an answer", `{}`, nil, 2, ""},
		{"no JSON", `{`, nil, 0, phases.KindHostcall},
		{"nothing", ``, nil, 0, phases.KindHostcall},
		{"an errno", `{}`, Absent, Absent, ""},
		{"an errno that is none", `{}`, Errno(0), 0, phases.KindHostcall},
		{"a refusal", `{}`, &Refusal{Errno: Denied}, Denied, ""},
		{"a refusal that is none", `{}`, &Refusal{}, 0, phases.KindHostcall},
		{"a failure of the store", `{}`, fault(phases.KindStore), 0, phases.KindStore},
		{"a failure to go back", `{}`, fault(phases.KindRollback), 0, phases.KindRollback},
		{"a failure of the record", `{}`, fault(phases.KindAudit), 0, phases.KindAudit},
		{"another fault", `{}`, fault(phases.KindPolicy), 0, phases.KindHostcall},
		{"another error", `{}`, errors.New("disk"), 0, phases.KindHostcall},
	} {
		u := newTurn(t, func(c *SessionConfig) {
			c.Tools = portFunc(func(context.Context) (jsontext.Value, error) { return jsontext.Value(tc.reply), tc.err })
		})
		r, err := u.try("request_tool_call", "{}")
		f := phases.FaultOf(err)
		if tc.kind == "" && (err != nil || r.Code != int64(tc.code)) || tc.kind != "" &&
			(f == nil || f.Kind != tc.kind || r.Code != 0) {
			t.Errorf("%s: %d, %v, want %d, %s", tc.name, r.Code, err, tc.code, tc.kind)
		}
	}
	u := newTurn(t, func(c *SessionConfig) { c.Limits.Reply = 5 })
	for reply, want := range map[string]string{`[123]`: `[123]`, `[1234]`: ""} {
		u.reply()
		u.Session.reply = nil
		if r, err := u.portResult("x", nil, &Refusal{Errno: Pending, Reply: jsontext.Value(reply)}); err != nil ||
			r.Code != int64(Pending) || string(u.Session.reply) != want {
			t.Errorf("an explanation of %d bytes: %+v, %v, %s", len(reply), r, err, u.Session.reply)
		}
	}
	for _, bad := range []string{"", "[]", "1", "{", `{"a":1,"a":2}`} {
		newTurn(t, nil).code(Invalid, "request_tool_call", bad)
	}
}

// A hook that is only observed gets no port; its requests are kept as wishes.
func TestWishesAreKept(t *testing.T) {
	u := newTurn(t, func(c *SessionConfig) { c.Observe, c.Leases = true, ledger{err: errors.New("asked")} })
	u.code(Unavailable, "check_lease", `{"a":1}`)
	u.code(Unavailable, "http_request", `{"b":2}`)
	u.code(Invalid, "request_lease", `[]`)
	want := []Wish{{Call: "check_lease", Request: jsontext.Value(`{"a":1}`)},
		{Call: "http_request", Request: jsontext.Value(`{"b":2}`)}}
	if diff := cmp.Diff(want, u.Wishes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A store that fails ends the turn, whichever of its calls it was.
func TestStateThatCannotBeRead(t *testing.T) {
	for _, call := range [][]any{{"state_get", "a"}, {"state_put", "a", "b"}} {
		u := newTurn(t, withState(&store{err: errors.New("disk")}))
		_, err := u.try(call[0].(string), call[1:]...)
		if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindStore || u.StateReads() != nil {
			t.Errorf("%v: %v, %v", call[0], err, u.StateReads())
		}
	}
	st := &store{}
	u := newTurn(t, withState(st))
	u.code(Absent, "state_get", "a")
	st.err = errors.New("disk") // now its usage cannot be told
	_, err := u.try("state_put", "a", "b")
	if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindStore || u.StateWrites() != nil {
		t.Errorf("%v, %v", err, u.StateWrites())
	}
}

// What a turn wants to keep, as a whole: with the versions it saw, and nothing that changes nothing.
func TestStateWritesAreWhole(t *testing.T) {
	u := newTurn(t, withState(&store{values: map[string]string{"a": "1", "b": "2", "c": "3"}}))
	for _, kv := range [][2]string{{"c", ""}, {"a", "x"}, {"b", "other"}, {"b", "2"}, {"new", "n"}, {"no", "n"},
		{"no", ""}} {
		u.code(0, "state_put", kv[0], kv[1])
	}
	want := []StateWrite{{Key: "a", Value: []byte("x"), Version: 7}, {Key: "c", Delete: true, Version: 7},
		{Key: "new", Value: []byte("n")}}
	if diff := cmp.Diff(want, u.StateWrites()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	reads := []StateRead{{Key: "a", Version: 7}, {Key: "b", Version: 7}, {Key: "c", Version: 7}, {Key: "new"}, {Key: "no"}}
	if diff := cmp.Diff(reads, u.StateReads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

// A namespace that is over its quota can shrink and change, and not grow.
func TestStateOverItsQuota(t *testing.T) {
	many := newTurn(t, withState(&store{values: map[string]string{"a": "1"}, keys: MaxStateKeys + 5}))
	many.code(0, "state_put", "a", "2")
	many.code(Budget, "state_put", "new", "x")
	many.code(0, "state_put", "a", "")
	many.code(Budget, "state_put", "a", "1")

	large := newTurn(t, withState(&store{values: map[string]string{"a": "12"}, extra: MaxState + 5}))
	large.code(0, "state_put", "a", "34")
	large.code(Budget, "state_put", "a", "345")
	large.code(0, "state_put", "a", "3")
	large.code(Budget, "state_put", "a", "34")

	full := newTurn(t, withState(&store{extra: MaxState - 3}))
	full.code(Budget, "state_put", "ab", "12")
	full.code(0, "state_put", "ab", "1")
}

// A handler that fails without a fault ends the turn as a failed host function, with its own words for operators only.
func TestHandlersThatFail(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want phases.Kind
	}{{errors.New("disk"), phases.KindHostcall}, {phases.NewFault(phases.KindStore, "text", nil), phases.KindStore}} {
		c := Call{Name: "x", Handle: func(context.Context, *Session, *Args) (Result, error) {
			return Result{Code: 7}, tc.err
		}}
		r, err := newTurn(t, nil).Do(t.Context(), &c, &Args{})
		f := phases.FaultOf(err)
		if f == nil || f.Kind != tc.want || strings.Contains(f.Text, "disk") || r.Code != 0 || !errors.Is(err, tc.err) {
			t.Errorf("%v: %+v, %v", tc.err, r, err)
		}
	}
}

// The stream during start and _initialize has its own seed.
func TestRandomDuringInit(t *testing.T) {
	u := newTurn(t, func(c *SessionConfig) { c.InitSeed = [32]byte{1} })
	u.BeginInit()
	if got := fmt.Sprintf("%x", u.Random(8)); got != randomVector {
		t.Errorf("the stream begins with %s", got)
	}
}

// Ports that are missing stay missing where a turn is traced, and the others are named.
func TestTracedPorts(t *testing.T) {
	for _, tc := range []struct {
		cfg  SessionConfig
		want string
	}{
		{SessionConfig{}, "[]"},
		{SessionConfig{State: &store{}}, "[state]"},
		{SessionConfig{Tools: portFunc(nil)}, "[tools]"},
		{SessionConfig{Leases: ledger{}}, "[leases]"},
		{SessionConfig{Files: &linkTree{}}, "[files]"},
	} {
		var tr Trace
		c := tc.cfg.Record(&tr)
		if got := fmt.Sprint(tr.Ports); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
		if (c.State == nil) != (tc.cfg.State == nil) || (c.Tools == nil) != (tc.cfg.Tools == nil) ||
			(c.Leases == nil) != (tc.cfg.Leases == nil) ||
			(c.HTTP == nil) != (tc.cfg.HTTP == nil) || (c.Files == nil) != (tc.cfg.Files == nil) || c.Tap != Tap(&tr) {
			t.Errorf("%s: other ports than before: %+v", tc.want, c)
		}
	}
}

// The end of a range is never taken for less than it is.
func TestEndsOfRanges(t *testing.T) {
	for rest, want := range map[string]int{
		"z]": 'z', "z": 'z', "\U0001E942]": 0x1e942, `\\`: 0o777, `\d]`: 0o777, `\377]`: 0o777, `\`: '\\', `\x41]`: 0xff,
		`\x{1E942}]`: 0x1e942, `\x{41}]`: 0x41, `\x{41`: 0xff, `\x{zz}]`: lastFold, `\x{FFFFFFFFF}]`: lastFold,
	} {
		if got := rangeEnd(rest); got != want {
			t.Errorf("%q ends with %#x, want %#x", rest, got, want)
		}
	}
	for _, tc := range []struct {
		pattern string
		fold    bool
		want    int
	}{
		{`[a-b]`, false, 0}, {`[a-b]`, true, classRune * 'b'}, {`(?i)[a-b]`, false, classRune * 'b'},
		{`\pL\PL\d\\p`, false, 2 * classTable}, {`\`, true, 0},
		{"[a-\U0010FFFF]", true, classRune * lastFold},
	} {
		if got := classWork(tc.pattern, tc.fold); got != tc.want {
			t.Errorf("%q, %v: %d, want %d", tc.pattern, tc.fold, got, tc.want)
		}
	}
}

// Patterns and texts are taken up to each bound, and refused beyond it.
func TestBoundsOfPatterns(t *testing.T) {
	list := func(s string, n int) []string {
		return strings.Split(strings.TrimSuffix(strings.Repeat(s+"\n", n), "\n"), "\n")
	}
	for _, tc := range []struct {
		name string
		req  patternQuery
		ok   bool
	}{
		{"most patterns and texts",
			patternQuery{Kind: "re2", Patterns: list("a", maxPatterns), Texts: list("a", maxPatternTexts)}, true},
		{"more patterns", patternQuery{Kind: "re2", Patterns: list("a", maxPatterns+1)}, false},
		{"more texts", patternQuery{Kind: "glob", Texts: list("a", maxPatternTexts+1)}, false},
		{"the longest pattern", patternQuery{Kind: "re2", Patterns: []string{strings.Repeat("a", maxPattern)}}, true},
		{"a longer pattern", patternQuery{Kind: "glob", Patterns: []string{strings.Repeat("a", maxPattern+1)}}, false},
		{"most stars", patternQuery{Kind: "glob", Patterns: []string{strings.Repeat("*a", maxGlobStars)}}, true},
		{"more stars", patternQuery{Kind: "glob", Patterns: []string{strings.Repeat("*a", maxGlobStars+1)}}, false},
		{"stars that are two",
			patternQuery{Kind: "glob", Patterns: []string{strings.TrimSuffix(strings.Repeat("**/", maxGlobStars), "/")}},
			true},
		{"most alternatives", patternQuery{Kind: "glob", Patterns: []string{strings.Repeat("{a,b}", 6)}}, true},
		{"more alternatives", patternQuery{Kind: "glob", Patterns: []string{strings.Repeat("{a,b}", 6) + "{a,b}"}}, false},
		{"the longest text of a glob",
			patternQuery{Kind: "glob", Patterns: []string{"a"}, Texts: []string{strings.Repeat("a", maxGlobText)}}, true},
		{"a longer one",
			patternQuery{Kind: "glob", Patterns: []string{"a"}, Texts: []string{strings.Repeat("a", maxGlobText+1)}}, false},
		{"a longer one for an expression",
			patternQuery{Kind: "re2", Patterns: []string{"a"}, Texts: []string{strings.Repeat("a", maxGlobText+1)}}, true},
		{"the largest expression", patternQuery{Kind: "re2", Patterns: []string{"(?:a){1000}"}}, true},
		{"a larger one", patternQuery{Kind: "re2", Patterns: []string{"(?:abc|d[xyz]){1000}"}}, false},
	} {
		u := newTurn(t, nil)
		r := u.do("pattern_match", patternRequest(t, tc.req))
		if tc.ok != (r.Code >= 0) || !tc.ok && r.Code != int64(TooLarge) {
			t.Errorf("%s: %d", tc.name, r.Code)
		}
	}
	// A pattern costs twenty times what a byte of text does, and each pair its text.
	fuel := func(patterns, texts []string) int64 {
		u := newTurn(t, nil)
		return u.do("pattern_match", patternRequest(t, patternQuery{Kind: "glob", Patterns: patterns, Texts: texts})).Fuel
	}
	one := fuel([]string{"a"}, nil) / 20
	if one <= 0 || fuel([]string{"a"}, []string{"xy"}) != one*(20+3) ||
		fuel([]string{"a", "a"}, []string{"xy", ""}) != one*2*(20+3+1) || fuel([]string{"{a,b}*"}, nil) != one*20*4 {
		t.Errorf("%d for one pattern, %d with a text", one, fuel([]string{"a"}, []string{"xy"}))
	}
}

// A trace beyond its limit adds no more calls or answers and says that it is incomplete.
func TestBoundsOfTraces(t *testing.T) {
	for _, n := range []int{0, MaxTraceValue, MaxTraceValue + 1} {
		b := []byte(strings.Repeat("x", n))
		v := ValueOf(b)
		if v.Len != n || !v.Is(b) || n > 0 && (v.Bytes == nil) != (n > MaxTraceValue) ||
			v.Is([]byte(strings.Repeat("y", n))) != (n == 0) || v.Is(append(b, 'x')) {
			t.Errorf("%d bytes: %d kept of %d", n, len(v.Bytes), v.Len)
		}
	}
	c, _ := Lookup("request_tool_call")
	for _, tc := range []struct {
		bytes int
		kept  bool
	}{{MaxTraceBytes, true}, {MaxTraceBytes + 1, false}} {
		tr := &Trace{bytes: tc.bytes}
		tr.Called(&c, &Args{In: [2][]byte{[]byte("{}")}}, Result{Out: []byte("abc")}, []byte("reply"), nil)
		if (len(tr.Calls) == 1) != tc.kept || tr.Incomplete == tc.kept || tc.kept && tr.bytes != tc.bytes+10 {
			t.Errorf("a call after %d bytes: %d kept, incomplete %v, %d bytes", tc.bytes, len(tr.Calls), tr.Incomplete, tr.bytes)
		}
		tr = &Trace{bytes: tc.bytes}
		tr.add(PortAnswer{Request: []byte("abc"), Reply: []byte("de")})
		if (len(tr.Answers) == 1) != tc.kept || tr.Incomplete == tc.kept || tc.kept && tr.bytes != tc.bytes+5 {
			t.Errorf("an answer after %d bytes: %d kept, incomplete %v, %d bytes", tc.bytes, len(tr.Answers), tr.Incomplete,
				tr.bytes)
		}
	}
}
