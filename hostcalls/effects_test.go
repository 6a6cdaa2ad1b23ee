package hostcalls

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Every effect, legal once: nothing refused, and the effect in the list.
func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		phase phases.Phase
		call  string
		args  []any
		want  phases.Effect
	}{
		{phases.PreTool, "block", []any{"no"}, phases.Effect{Kind: phases.EffectBlock, Text: "no"}},
		{phases.PreTool, "request_approval", []any{`{"reason":"why","ttl_s":60}`},
			phases.Effect{Kind: phases.EffectAsk, Text: "why", Value: jsontext.Value(`{"reason":"why","ttl_s":60}`)}},
		{phases.PreTool, "rewrite", []any{"/args/command", "x\"y", 1},
			phases.Effect{Kind: phases.EffectRewrite, Path: "/args/command", Value: jsontext.Value(`"x\"y"`)}},
		{phases.PreTool, "rewrite", []any{"/args/new", ` [1] `, 0},
			phases.Effect{Kind: phases.EffectRewrite, Path: "/args/new", Value: jsontext.Value(`[1]`)}},
		{phases.PreTool, "rewrite", []any{"/args/n", "", 2},
			phases.Effect{Kind: phases.EffectRewrite, Path: "/args/n", Remove: true}},
		{phases.PreTool, "redact", []any{"/args/command", "label"},
			phases.Effect{Kind: phases.EffectRedact, Path: "/args/command", Label: "label"}},
		{phases.PreTool, "clamp_scopes", []any{`{"tools":["exec"]}`},
			phases.Effect{Kind: phases.EffectClamp, Scopes: &phases.Scopes{Tools: phases.Scope{"exec"}}}},
		{phases.PreTool, "annotate", []any{"k", `{"a":1}`},
			phases.Effect{Kind: phases.EffectAnnotate, Key: "k", Value: jsontext.Value(`{"a":1}`)}},
		{phases.PreTool, "add_context", []any{"text"}, phases.Effect{Kind: phases.EffectContext, Text: "text"}},
		{phases.PreTool, "grant", []any{"fine"}, phases.Effect{Kind: phases.EffectGrant, Text: "fine"}},
		{phases.PostReceive, "retry", []any{`{"instruction":"go on","max":2}`},
			phases.Effect{Kind: phases.EffectRetry, Value: jsontext.Value(`{"instruction":"go on","max":2}`)}},
		{phases.PrePlan, "reply", []any{`{"text":"hello"}`},
			phases.Effect{Kind: phases.EffectReply, Value: jsontext.Value(`{"text":"hello"}`)}},
		{phases.PrePlan, "put_artifact", []any{`{"name":"a","media_type":"text/plain","text":"x"}`},
			phases.Effect{Kind: phases.EffectArtifact,
				Value: jsontext.Value(`{"name":"a","media_type":"text/plain","text":"x"}`)}},
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
			c.Granted = granted(slices.DeleteFunc(everything(), func(s string) bool { return s == name }))
		}
	}
	validator := func(c *SessionConfig) { c.Pass, c.Actor.Mutator = phases.PassValidate, false }
	prefix := func(c *SessionConfig) { c.Granted = granted([]string{"rewrite:/args/command"}) }
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
		{"large with its blanks", nil, TooLarge, "rewrite",
			[]any{"/args/command", "1" + strings.Repeat(" ", MaxEffect-1), 0}},
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
		{"artifact without a name", forPhase(phases.PrePlan), Invalid, "put_artifact",
			[]any{`{"media_type":"a/b","text":"x"}`}},
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
			// It names the phase, and no value that the hook had written: that may hold what the hook was shown.
			if strings.ContainsAny(f.Text, "{\xff\x01\n") || len(f.Text) > 600 || !strings.Contains(f.Text, "phase ") {
				t.Errorf("text %q does not only name phase, effect and place", f.Text)
			}
		})
	}
}

// An effect that was taken before one is refused does not come about.
func TestPoisonDropsEarlierEffects(t *testing.T) {
	u := newTurn(t, nil)
	u.code(0, "annotate", "before", "1")
	u.code(Invalid, "annotate", "", "1")
	if u.Poison() == nil || u.Effects() != nil {
		t.Errorf("%v, %v", u.Poison(), u.Effects())
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
		if e.Kind == phases.EffectBlock &&
			(!strings.HasPrefix(e.Text, "first \uFFFDé") || len(e.Text) > MaxReason || !strings.HasSuffix(e.Text, "é")) {
			t.Errorf("reason %d bytes: %.20q", len(e.Text), e.Text)
		}
	}
	if !slices.Equal(kinds,
		[]phases.EffectKind{phases.EffectRewrite, phases.EffectBlock, phases.EffectAnnotate, phases.EffectRedact}) {
		t.Errorf("effects %v", kinds)
	}
	if got := u.Notes(); !slices.Equal(got,
		[]string{"dropped after block: 1 block", "dropped after block: 1 rewrite", "dropped after block: 1 context"}) {
		t.Errorf("notes %q", got)
	}
	full := newTurn(t, func(c *SessionConfig) { c.Limits.Effects = 1 })
	full.code(0, "annotate", "a", "1")
	full.code(0, "block", "not counted")
	if full.Poison() != nil || len(full.Effects()) != 2 {
		t.Error("block counts towards the limit")
	}
}
