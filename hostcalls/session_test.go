package hostcalls

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

const preTool = `{"phase":"pre_tool","tool":"exec","call_id":"c-1","args":{"command":"ls -la","n":1.50,"t":true,"z":null,"l":[1,"two",{"x":3}],"s":"a\nb"}}`
const preToolAction = `{"tool":"exec","call_id":"c-1","args":{"command":"ls -la","n":1.50,"t":true,"z":null,"l":[1,"two",{"x":3}],"s":"a\nb"}}`

// randomVector is SHA-256 of 01 00…00 (32 bytes) and eight zero bytes, its first 8 bytes.
const randomVector = "b68f593141969cfe"

// everything is every capability.
func everything() []string { return Known() }

// granted reads capabilities that are valid.
func granted(list []string) Grants {
	g, err := ParseGrants(list)
	if err != nil {
		panic(err)
	}
	return g
}

// turn is a session for tests and a short way to call it.
type turn struct {
	*Session
	t *testing.T
}

func newTurn(t *testing.T, change func(*SessionConfig)) turn {
	t.Helper()
	cfg := SessionConfig{
		Phase: phases.PreTool, Pass: phases.PassMutate, Input: jsontext.Value(preTool), Action: jsontext.Value(preToolAction),
		Config: jsontext.Value(`{"a":[1,2]}`), Actor: phases.Actor{Hook: "h", Tier: phases.Trusted, Mutator: true},
		Granted: granted(everything()), Time: time.Unix(1_700_000_000, 5),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := NewSession(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return turn{s, t}
}

// do makes a call as the sandbox would: arguments are cut at MaxIn.
func (u turn) do(name string, args ...any) Result {
	u.t.Helper()
	r, err := u.try(name, args...)
	if err != nil {
		u.t.Fatalf("%s: %v", name, err)
	}
	return r
}

func (u turn) try(name string, args ...any) (Result, error) {
	u.t.Helper()
	c, ok := Lookup(name)
	if !ok {
		u.t.Fatalf("no call %q", name)
	}
	var a Args
	in := 0
	for i, p := range c.Params {
		switch p {
		case ParamIn:
			b := []byte(args[i].(string))
			if len(b) > c.MaxIn[in] {
				b, a.Long[in] = b[:c.MaxIn[in]], true
			}
			a.In[in] = b
			in++
		case ParamI32:
			a.I32 = int32(args[i].(int))
		default:
			if i < len(args) {
				a.Cap = uint32(args[i].(int))
			}
		}
	}
	return u.Do(context.Background(), &c, &a)
}

func (u turn) code(want Errno, name string, args ...any) {
	u.t.Helper()
	if r := u.do(name, args...); r.Code != int64(want) {
		u.t.Errorf("%s(%.80q) = %d (%v), want %d (%v)", name, fmt.Sprint(args...), r.Code, Errno(r.Code), want, want)
	}
}

func (u turn) reply() string {
	u.t.Helper()
	return string(u.do("reply_read").Out)
}

func TestReads(t *testing.T) {
	u := newTurn(t, nil)
	if got := string(u.do("input_read").Out); got != preTool {
		t.Errorf("input_read: %s", got)
	}
	for _, tt := range []struct {
		path string
		code Errno
		out  string
		kind int64
	}{
		{"", 0, preTool, 5},
		{"/args/command", 0, "ls -la", 3},
		{"/args/s", 0, "a\nb", 3},
		{"/args/n", 0, "1.50", 2},
		{"/args/t", 0, "true", 1},
		{"/args/z", 0, "null", 0},
		{"/args/l", 0, `[1,"two",{"x":3}]`, 4},
		{"/args/l/1", 0, "two", 3},
		{"/args/l/2/x", 0, "3", 2},
		{"/args/l/9", Absent, "", 0},
		{"/args/nope", Absent, "", 0},
		{"/args/command/x", Absent, "", 0},
		{"/args/", Absent, "", 0},
		{"args", Invalid, "", 0},
		{"/args/l/-", Invalid, "", 0},
		{"/args/l/01", Invalid, "", 0},
		{"/a~2", Invalid, "", 0},
		{"/\xff", Invalid, "", 0},
		{"/" + strings.Repeat("x", MaxPath), TooLarge, "", 0},
	} {
		r := u.do("input_get", tt.path)
		if r.Code != int64(tt.code) || string(r.Out) != tt.out {
			t.Errorf("input_get(%.40q) = %d %q, want %d %q", tt.path, r.Code, r.Out, tt.code, tt.out)
		}
		want := tt.kind
		if tt.code != 0 {
			want = int64(tt.code)
		}
		if k := u.do("input_kind", tt.path); k.Code != want {
			t.Errorf("input_kind(%.40q) = %d, want %d", tt.path, k.Code, want)
		}
	}
	if r := u.do("input_keys", "/args"); u.reply() != `["command","n","t","z","l","s"]` ||
		r.Code != int64(len(u.reply())) {
		t.Errorf("input_keys: %d %s", r.Code, u.reply())
	}
	u.do("config_keys", "/a")
	if got := u.reply(); got != "2" {
		t.Errorf("config_keys of an array: %s", got)
	}
	u.code(Absent, "input_keys", "/args/n")
	if string(u.do("config_get", "/a/1").Out) != "2" || u.do("config_kind", "/a").Code != 4 ||
		string(u.do("config_read").Out) != `{"a":[1,2]}` {
		t.Error("config")
	}
	if u.Poison() != nil {
		t.Errorf("reads poison: %v", u.Poison())
	}
}

func TestReplyBuffer(t *testing.T) {
	u := newTurn(t, nil)
	if u.reply() != "" {
		t.Error("not empty at first")
	}
	u.do("input_keys", "/args")
	first := u.reply()
	u.do("input_get", "/tool")
	u.do("log", 1, "x")
	u.do("annotate", "k", "1")
	if u.reply() != first {
		t.Error("reads, log and effects touch the reply")
	}
	u.do("find_secrets", "nothing")
	if u.reply() != `{"secrets":[],"truncated":false}` {
		t.Errorf("replaced: %s", u.reply())
	}
	u.code(Invalid, "pattern_match", "{}")
	if u.reply() != "" {
		t.Error("a failing call keeps the old reply")
	}
	small := newTurn(t, func(c *SessionConfig) { c.Limits.Reply = 10 })
	small.code(TooLarge, "input_keys", "/args")
	if small.reply() != "" {
		t.Error("a reply over its limit is kept")
	}
}

func TestLimits(t *testing.T) {
	u := newTurn(t, func(c *SessionConfig) { c.Limits.Effects = 2 })
	u.code(0, "annotate", "a", "1")
	u.code(0, "annotate", "b", "1")
	u.code(Budget, "annotate", "c", "1")
	if u.Poison() == nil {
		t.Error("too many effects do not poison")
	}
	u = newTurn(t, func(c *SessionConfig) { c.Limits.EffectBytes = 1000 })
	u.code(0, "add_context", strings.Repeat("x", 900))
	u.code(Budget, "add_context", strings.Repeat("x", 200))
	u = newTurn(t, func(c *SessionConfig) { c.Limits.Calls = 2 })
	u.code(Unavailable, "request_lease", "{}")
	u.code(Unavailable, "check_lease", "{}")
	u.code(Budget, "request_lease", "{}")
	if u.Poison() != nil {
		t.Error("a refused call poisons")
	}
	if u.Hostcalls() != 3 {
		t.Errorf("%d calls", u.Hostcalls())
	}
}

func TestLogAndFail(t *testing.T) {
	u := newTurn(t, nil)
	u.code(Invalid, "log", 4, "x")
	u.code(Invalid, "log", -1, "x")
	u.code(0, "log", 2, "a\xffb\x1b[31m")
	u.code(0, "log", 0, strings.Repeat("é", MaxLogText))
	for range 70 {
		u.code(0, "log", 1, "x")
	}
	logs := u.Logs()
	if len(logs) != 64 || logs[0] != (LogEntry{Level: 2, Text: "a\uFFFDb\x1b[31m"}) || len(logs[1].Text) > MaxLogText ||
		u.LogsDropped() != 9 {
		t.Errorf("%d entries, %d dropped, first %+v", len(logs), u.LogsDropped(), logs[0])
	}
	u.code(0, "fail", "one")
	u.code(0, "fail", "two\xff"+strings.Repeat("x", 2000))
	if got := u.FailText(); !strings.HasPrefix(got, "two\uFFFDx") || len(got) > MaxFail {
		t.Errorf("fail text %d bytes %.10q", len(got), got)
	}
	if u.Poison() != nil {
		t.Error("poisoned")
	}
}

func TestInit(t *testing.T) {
	for _, c := range Table() {
		u := newTurn(t, nil)
		u.BeginInit()
		_, err := u.Do(context.Background(), &c, &Args{})
		if ok := c.Name == "log" || c.Name == "fail"; ok != (err == nil) {
			t.Errorf("%s during init: %v", c.Name, err)
		}
		if f := phases.FaultOf(err); err != nil && (f == nil || f.Kind != phases.KindHostcall) {
			t.Errorf("%s: %v", c.Name, err)
		}
		u.EndInit()
		if c.Name == "input_read" {
			u.code(0, "input_read")
		}
	}
}

func TestHandlerPanics(t *testing.T) {
	u := newTurn(t, nil)
	c := Call{Name: "x", Handle: func(context.Context, *Session, *Args) (Result, error) { panic("host address 0xc000") }}
	_, err := u.Do(context.Background(), &c, &Args{})
	if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindHostcall || strings.Contains(f.Text, "0x") {
		t.Errorf("%v", err)
	}
}

func TestNewSession(t *testing.T) {
	ok := SessionConfig{Phase: phases.PreTool, Pass: phases.PassMutate, Input: jsontext.Value(`{}`),
		Action: jsontext.Value(preToolAction)}
	for name, tt := range map[string]struct {
		change func(*SessionConfig)
		kind   phases.Kind
	}{
		"phase":           {func(c *SessionConfig) { c.Phase = "x" }, phases.KindProtocol},
		"input":           {func(c *SessionConfig) { c.Input = jsontext.Value(`{"a":1,"a":2}`) }, phases.KindProtocol},
		"input too large": {func(c *SessionConfig) { c.Limits.Input = 1 }, phases.KindProtocol},
		"no input":        {func(c *SessionConfig) { c.Input = nil }, phases.KindProtocol},
		"action":          {func(c *SessionConfig) { c.Action = jsontext.Value(`{`) }, phases.KindProtocol},
		"config":          {func(c *SessionConfig) { c.Config = jsontext.Value(`x`) }, phases.KindLoad},
	} {
		cfg := ok
		tt.change(&cfg)
		_, err := NewSession(cfg)
		if f := phases.FaultOf(err); f == nil || f.Kind != tt.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewSession(ok); err != nil {
		t.Error(err)
	}
}

func TestRandomAndTime(t *testing.T) {
	seeded := func(b byte) func(*SessionConfig) {
		return func(c *SessionConfig) { c.Seed, c.InitSeed = [32]byte{b}, [32]byte{9} }
	}
	a, b, other := newTurn(t, seeded(1)), newTurn(t, seeded(1)), newTurn(t, seeded(2))
	whole := a.do("random", 100).Out
	parts := slices.Concat(b.do("random", 1).Out, b.do("random", 67).Out, b.do("random", 0).Out, b.do("random", 32).Out)
	if len(whole) != 100 || string(whole) != string(parts) || string(other.do("random", 100).Out) == string(whole) {
		t.Error("the stream depends on how it is read, or not on its seed")
	}
	// block 0 of the seed 01 00 … is SHA-256(seed ‖ 0⁸): a vector, computed elsewhere
	if got := fmt.Sprintf("%x", whole[:8]); got != randomVector {
		t.Errorf("stream begins with %s", got)
	}
	a.code(TooLarge, "random", MaxRandom+1)
	if r := a.do("time_now"); r.Code != 1_700_000_000_000_000_005 {
		t.Errorf("time %d", r.Code)
	}
	a.BeginInit()
	init1 := a.Random(16)
	if a.now() != initEpoch*1e9 {
		t.Error("time during init")
	}
	a.EndInit()
	if string(a.Random(16)) == string(init1) {
		t.Error("init has no stream of its own")
	}
	m1, m2 := a.WASIMonotonic(), a.WASIMonotonic()
	if m2-m1 != 1000 {
		t.Error("clocks stand still")
	}
	a.WASIAdvance(time.Second)
	if a.WASIMonotonic()-m2 != 1_000_001_000 {
		t.Error("advance")
	}
	a.WASIAdvance(-time.Hour)
	a.WASIAdvance(1<<63 - 1)
	if a.WASIMonotonic() < 0 || a.WASIRealtime() < 0 {
		t.Error("overflow")
	}
}
