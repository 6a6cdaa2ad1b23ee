package hostcalls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

const preTool = `{"phase":"pre_tool","tool":"exec","call_id":"c-1","args":{"command":"ls -la","n":1.50,"t":true,"z":null,"l":[1,"two",{"x":3}],"s":"a\nb"}}`
const preToolAction = `{"tool":"exec","call_id":"c-1","args":{"command":"ls -la","n":1.50,"t":true,"z":null,"l":[1,"two",{"x":3}],"s":"a\nb"}}`

// randomVector is SHA-256 of 01 00…00 (32 bytes) and eight zero bytes, its first 8 bytes.
const randomVector = "b68f593141969cfe"

// everything grants every capability.
func everything() []string { return Known() }

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
		Granted: everything(), Time: time.Unix(1_700_000_000, 5),
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
	if r := u.do("input_keys", "/args"); u.reply() != `["command","n","t","z","l","s"]` || r.Code != int64(len(u.reply())) {
		t.Errorf("input_keys: %d %s", r.Code, u.reply())
	}
	u.do("config_keys", "/a")
	if got := u.reply(); got != "2" {
		t.Errorf("config_keys of an array: %s", got)
	}
	u.code(Absent, "input_keys", "/args/n")
	if string(u.do("config_get", "/a/1").Out) != "2" || u.do("config_kind", "/a").Code != 4 || string(u.do("config_read").Out) != `{"a":[1,2]}` {
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

// Every effect, legal once: nothing refused, and the effect in the list.
func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		phase phases.Phase
		call  string
		args  []any
		want  phases.Effect
	}{
		{phases.PreTool, "block", []any{"no"}, phases.Effect{Kind: phases.EffectBlock, Text: "no"}},
		{phases.PreTool, "request_approval", []any{`{"reason":"why","ttl_s":60}`}, phases.Effect{Kind: phases.EffectAsk, Text: "why", Value: jsontext.Value(`{"reason":"why","ttl_s":60}`)}},
		{phases.PreTool, "rewrite", []any{"/args/command", "x\"y", 1}, phases.Effect{Kind: phases.EffectRewrite, Path: "/args/command", Value: jsontext.Value(`"x\"y"`)}},
		{phases.PreTool, "rewrite", []any{"/args/new", ` [1] `, 0}, phases.Effect{Kind: phases.EffectRewrite, Path: "/args/new", Value: jsontext.Value(`[1]`)}},
		{phases.PreTool, "rewrite", []any{"/args/n", "", 2}, phases.Effect{Kind: phases.EffectRewrite, Path: "/args/n", Remove: true}},
		{phases.PreTool, "redact", []any{"/args/command", "label"}, phases.Effect{Kind: phases.EffectRedact, Path: "/args/command", Label: "label"}},
		{phases.PreTool, "clamp_scopes", []any{`{"tools":["exec"]}`}, phases.Effect{Kind: phases.EffectClamp, Scopes: &phases.Scopes{Tools: phases.Scope{"exec"}}}},
		{phases.PreTool, "annotate", []any{"k", `{"a":1}`}, phases.Effect{Kind: phases.EffectAnnotate, Key: "k", Value: jsontext.Value(`{"a":1}`)}},
		{phases.PreTool, "add_context", []any{"text"}, phases.Effect{Kind: phases.EffectContext, Text: "text"}},
		{phases.PreTool, "grant", []any{"fine"}, phases.Effect{Kind: phases.EffectGrant, Text: "fine"}},
		{phases.PostReceive, "retry", []any{`{"instruction":"go on","max":2}`}, phases.Effect{Kind: phases.EffectRetry, Value: jsontext.Value(`{"instruction":"go on","max":2}`)}},
		{phases.PrePlan, "reply", []any{`{"text":"hello"}`}, phases.Effect{Kind: phases.EffectReply, Value: jsontext.Value(`{"text":"hello"}`)}},
		{phases.PrePlan, "put_artifact", []any{`{"name":"a","media_type":"text/plain","text":"x"}`}, phases.Effect{Kind: phases.EffectArtifact, Value: jsontext.Value(`{"name":"a","media_type":"text/plain","text":"x"}`)}},
	} {
		u := newTurn(t, forPhase(tt.phase))
		u.code(0, tt.call, tt.args...)
		got, _ := json.Marshal(u.Effects())
		want, _ := json.Marshal([]phases.Effect{tt.want})
		if string(got) != string(want) || u.Poison() != nil {
			t.Errorf("%s: %s, want %s; %v", tt.call, got, want, u.Poison())
		}
	}
}

func forPhase(p phases.Phase) func(*SessionConfig) {
	return func(c *SessionConfig) {
		c.Phase = p
		switch p {
		case phases.PrePlan:
			c.Action = jsontext.Value(`{"kind":"message","text":"hi"}`)
		case phases.PostReceive:
			c.Action = jsontext.Value(`{"kind":"final","text":"done"}`)
		case phases.Audit:
			c.Action = jsontext.Value(`{"kind":"verdict","data":{"a":"b"}}`)
			c.Pass = phases.PassAudit
		}
		c.Input = c.Action
	}
}

// Every way to be refused: the errno, and that an effect poisons the turn.
func TestEffectsRefused(t *testing.T) {
	sandboxed := func(c *SessionConfig) { c.Actor.Tier = phases.Sandboxed }
	without := func(name string) func(*SessionConfig) {
		return func(c *SessionConfig) {
			c.Granted = slices.DeleteFunc(everything(), func(s string) bool { return s == name })
		}
	}
	validator := func(c *SessionConfig) { c.Pass, c.Actor.Mutator = phases.PassValidate, false }
	prefix := func(c *SessionConfig) { c.Granted = []string{"rewrite:/args/command"} }
	for _, tt := range []struct {
		name   string
		change func(*SessionConfig)
		want   Errno
		call   string
		args   []any
	}{
		{"not granted", without("annotate"), Denied, "annotate", []any{"k", "1"}},
		{"block not granted", without("block"), Denied, "block", []any{"x"}},
		{"not legal in the phase", nil, Denied, "reply", []any{`{"text":"x"}`}},
		{"audit", forPhase(phases.Audit), Denied, "annotate", []any{"k", "1"}},
		{"block in audit", forPhase(phases.Audit), Denied, "block", []any{"x"}},
		{"tier", sandboxed, Denied, "grant", []any{"x"}},
		{"validator rewrites", validator, Denied, "rewrite", []any{"/args/command", "x", 1}},
		{"validator redacts", validator, Denied, "redact", []any{"/args/command", "x"}},
		{"validator clamps", validator, Denied, "clamp_scopes", []any{`{"tools":[]}`}},
		{"outside of the grant", prefix, Denied, "rewrite", []any{"/args/n", "x", 1}},
		{"outside of the phase", nil, Denied, "rewrite", []any{"/tool", "x", 1}},
		{"bad pointer", nil, Invalid, "rewrite", []any{"/args/~3", "x", 1}},
		{"missing parent", nil, Invalid, "rewrite", []any{"/args/no/where", "x", 1}},
		{"not JSON", nil, Invalid, "rewrite", []any{"/args/command", "{", 0}},
		{"duplicate names", nil, Invalid, "rewrite", []any{"/args/command", `{"a":1,"a":2}`, 0}},
		{"bad UTF-8", nil, Invalid, "rewrite", []any{"/args/command", "\xff", 1}},
		{"unknown kind", nil, Invalid, "rewrite", []any{"/args/command", "x", 3}},
		{"removal with a value", nil, Invalid, "rewrite", []any{"/args/command", "x", 2}},
		{"args no longer an object", nil, Invalid, "rewrite", []any{"/args", "x", 1}},
		{"too large", nil, TooLarge, "rewrite", []any{"/args/command", strings.Repeat("x", MaxEffect+1), 1}},
		{"large with its blanks", nil, TooLarge, "rewrite", []any{"/args/command", "1" + strings.Repeat(" ", MaxEffect-1), 0}},
		{"large after quoting", nil, TooLarge, "rewrite", []any{"/args/command", strings.Repeat("\x01", MaxEffect-100), 1}},
		{"long path", nil, TooLarge, "redact", []any{"/" + strings.Repeat("x", MaxPath), "l"}},
		{"nothing to redact", nil, Invalid, "redact", []any{"/args/nope", "l"}},
		{"ask without a reason", nil, Invalid, "request_approval", []any{`{}`}},
		{"ask with unknown member", nil, Invalid, "request_approval", []any{`{"reason":"x","y":1}`}},
		{"ask with negative time", nil, Invalid, "request_approval", []any{`{"reason":"x","ttl_s":-1}`}},
		{"ask that is no object", nil, Invalid, "request_approval", []any{`"x"`}},
		{"bad scope", nil, Invalid, "clamp_scopes", []any{`{"fs_read":["/a/**/b"]}`}},
		{"unknown scope", nil, Invalid, "clamp_scopes", []any{`{"x":[]}`}},
		{"annotation not JSON", nil, Invalid, "annotate", []any{"k", "x"}},
		{"annotation without key", nil, Invalid, "annotate", []any{"", "1"}},
		{"context not UTF-8", nil, Invalid, "add_context", []any{"\xff"}},
		{"context empty", nil, Invalid, "add_context", []any{""}},
		{"context too long", nil, TooLarge, "add_context", []any{strings.Repeat("x", MaxContext+1)}},
		{"retry too often", forPhase(phases.PostReceive), Invalid, "retry", []any{`{"instruction":"x","max":11}`}},
		{"artifact without a name", forPhase(phases.PrePlan), Invalid, "put_artifact", []any{`{"media_type":"a/b","text":"x"}`}},
		{"artifact in pre_tool", nil, Denied, "put_artifact", []any{`{"name":"a","media_type":"a/b","text":"x"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := newTurn(t, tt.change)
			u.do("log", 1, "before")
			u.code(tt.want, tt.call, tt.args...)
			f := u.Poison()
			if f == nil || f.Kind != phases.KindOutput || f.Cause == nil {
				t.Fatalf("poison: %+v", f)
			}
			if u.Effects() != nil || u.StateWrites() != nil {
				t.Error("a poisoned turn still has effects")
			}
			if _, bad, _ := strings.Cut(f.Text, tt.call); strings.ContainsAny(f.Text, "{/\xff") || bad != "" {
				t.Errorf("text %q is not a fixed sentence", f.Text)
			}
		})
	}
}

func TestUnstable(t *testing.T) {
	again := func(c *SessionConfig) { c.Pass = phases.PassValidate }
	u := newTurn(t, again)
	u.code(0, "rewrite", "/args/command", "ls -la", 1)
	if u.Poison() != nil {
		t.Errorf("a rewrite that changes nothing: %v", u.Poison())
	}
	u.code(Denied, "rewrite", "/args/command", "other", 1)
	if f := u.Poison(); f == nil || f.Kind != phases.KindProtocol {
		t.Errorf("poison %v", f)
	}
}

func TestBlock(t *testing.T) {
	u := newTurn(t, nil)
	u.code(0, "rewrite", "/args/command", "x", 1)
	u.code(0, "block", "first \xff"+strings.Repeat("é", 4000))
	u.code(0, "block", "second")
	u.code(0, "rewrite", "/args/command", "y", 1)
	u.code(0, "add_context", "late")
	u.code(0, "annotate", "k", "1")
	u.code(0, "redact", "/args/command", "l")
	var kinds []phases.EffectKind
	for _, e := range u.Effects() {
		kinds = append(kinds, e.Kind)
		if e.Kind == phases.EffectBlock && (!strings.HasPrefix(e.Text, "first \uFFFDé") || len(e.Text) > MaxReason || !strings.HasSuffix(e.Text, "é")) {
			t.Errorf("reason %d bytes: %.20q", len(e.Text), e.Text)
		}
	}
	if !slices.Equal(kinds, []phases.EffectKind{phases.EffectRewrite, phases.EffectBlock, phases.EffectAnnotate, phases.EffectRedact}) {
		t.Errorf("effects %v", kinds)
	}
	if got := u.Notes(); !slices.Equal(got, []string{"dropped after block: 1 block", "dropped after block: 1 rewrite", "dropped after block: 1 context"}) {
		t.Errorf("notes %q", got)
	}
	full := newTurn(t, func(c *SessionConfig) { c.Limits.Effects = 1 })
	full.code(0, "annotate", "a", "1")
	full.code(0, "block", "not counted")
	if full.Poison() != nil || len(full.Effects()) != 2 {
		t.Error("block counts towards the limit")
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
	if len(logs) != 64 || logs[0] != (LogEntry{Level: 2, Text: "a\uFFFDb\x1b[31m"}) || len(logs[1].Text) > MaxLogText || u.LogsDropped() != 9 {
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

type fakePort struct {
	reply jsontext.Value
	err   error
	actor phases.Actor
	calls []string
}

func (p *fakePort) call(name string, a phases.Actor) (jsontext.Value, error) {
	p.calls, p.actor = append(p.calls, name), a
	return p.reply, p.err
}

func (p *fakePort) RunTool(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("tool", a)
}
func (p *fakePort) Request(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("request", a)
}
func (p *fakePort) Check(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("check", a)
}
func (p *fakePort) Mint(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("mint", a)
}
func (p *fakePort) Revoke(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("revoke", a)
}
func (p *fakePort) DoHTTP(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("http", a)
}

func TestPorts(t *testing.T) {
	calls := []string{"request_tool_call", "request_lease", "check_lease", "mint_lease", "revoke_lease", "http_request"}
	with := func(p *fakePort) func(*SessionConfig) {
		return func(c *SessionConfig) { c.Tools, c.Leases, c.HTTP = p, p, p }
	}
	for _, name := range calls {
		newTurn(t, nil).code(Unavailable, name, "{}")
		newTurn(t, nil).code(Invalid, name, "[]")
		newTurn(t, nil).code(Invalid, name, "{")
		newTurn(t, func(c *SessionConfig) { c.Granted = nil }).code(Denied, name, "{}")
		newTurn(t, forPhase(phases.Audit)).code(Denied, name, "{}")
		u := newTurn(t, func(c *SessionConfig) { c.Actor.Tier = phases.Sandboxed })
		if least, _ := LeastTier(name); least == phases.Trusted {
			u.code(Denied, name, "{}")
		} else {
			u.code(Unavailable, name, "{}")
		}
		p := &fakePort{reply: jsontext.Value(`{"ok":true}`)}
		u = newTurn(t, with(p))
		if r := u.do(name, "{}"); r.Code != 11 || u.reply() != `{"ok":true}` || p.actor.Hook != "h" || len(p.calls) != 1 {
			t.Errorf("%s: %d %s %+v", name, r.Code, u.reply(), p)
		}
		newTurn(t, with(&fakePort{err: Pending})).code(Pending, name, "{}")
		for _, bad := range []*fakePort{{err: errors.New("secret detail")}, {reply: jsontext.Value("{")}} {
			_, err := newTurn(t, with(bad)).try(name, "{}")
			if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindHostcall || strings.Contains(f.Text, "secret") {
				t.Errorf("%s with a failing port: %v", name, err)
			}
		}
		p = &fakePort{}
		u = newTurn(t, func(c *SessionConfig) {
			with(p)(c)
			c.Observe, c.Actor.Mode, c.Pass = true, phases.Observe, phases.PassObserve
		})
		u.code(Unavailable, name, `{"a":1}`)
		if len(p.calls) != 0 || len(u.Wishes()) != 1 || u.Wishes()[0].Call != name || string(u.Wishes()[0].Request) != `{"a":1}` {
			t.Errorf("%s observed: %v %v", name, p.calls, u.Wishes())
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
	ok := SessionConfig{Phase: phases.PreTool, Pass: phases.PassMutate, Input: jsontext.Value(`{}`), Action: jsontext.Value(preToolAction)}
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
		"capability":      {func(c *SessionConfig) { c.Granted = []string{"root"} }, phases.KindLoad},
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
	if a.Now() != initEpoch*1e9 {
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
