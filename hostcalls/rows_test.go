package hostcalls

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/phases"
)

// TestBytesOfEffects: every byte that an effect brings counts towards the limit of all of them, and none else.
func TestBytesOfEffects(t *testing.T) {
	for _, c := range []struct {
		phase phases.Phase
		bytes int
		call  string
		args  []any
	}{
		{phases.PreTool, len("/args/command") + 2, "rewrite", []any{"/args/command", "ls", 1}},
		{phases.PreTool, len("/args/n") + len(" 1 "), "rewrite", []any{"/args/n", " 1 ", 0}},
		{phases.PreTool, len("/args/n"), "rewrite", []any{"/args/n", "", 2}},
		{phases.PreTool, len("/args/command") + len("label"), "redact", []any{"/args/command", "label"}},
		{phases.PreTool, len(`{"tools":["exec"]}`), "clamp_scopes", []any{`{"tools":["exec"]}`}},
		{phases.PreTool, len("key") + len(" 12 "), "annotate", []any{"key", " 12 "}},
		{phases.PreTool, len("text"), "add_context", []any{"text"}},
		{phases.PreTool, len("fine"), "grant", []any{"fine"}},
		{phases.PreTool, len(`{"reason":"why"}`), "request_approval", []any{`{"reason":"why"}`}},
		{phases.PostReceive, len(`{"instruction":"x","max":2}`), "retry", []any{`{"instruction":"x","max":2}`}},
		{phases.PrePlan, len(`{"text":"hello"}`), "reply", []any{`{"text":"hello"}`}},
	} {
		for limit, want := range map[int]Errno{c.bytes: 0, c.bytes - 1: Budget} {
			u := newTurn(t, func(cfg *SessionConfig) { forPhase(c.phase)(cfg); cfg.Limits.EffectBytes = limit })
			u.code(want, c.call, c.args...)
		}
		u := newTurn(t, func(cfg *SessionConfig) { cfg.Limits.EffectBytes = 2*c.bytes + 1 })
		if c.phase != phases.PreTool || c.call == "clamp_scopes" || c.call == "request_approval" || c.call == "rewrite" {
			continue // not twice in one turn
		}
		u.code(0, c.call, c.args...)
		u.code(0, c.call, c.args...)
		u.code(Budget, "add_context", "ab")
	}
}

// TestArgumentsThatAreNoEffect: what cannot be put into an effect, argument by argument.
func TestArgumentsThatAreNoEffect(t *testing.T) {
	for _, c := range []struct {
		why, call string
		args      []any
	}{
		{"a path that is no UTF-8", "rewrite", []any{"/args/\xff", "x", 1}},
		{"a value that is no UTF-8", "rewrite", []any{"/args/command", "\"\xff\"", 0}},
		{"a value that is no JSON", "rewrite", []any{"/args/command", "x", 0}},
		{"a kind below those that there are", "rewrite", []any{"/args/command", "x", -1}},
		{"a path that is no UTF-8", "redact", []any{"/args/\xff", "l"}},
		{"a label that is no UTF-8", "redact", []any{"/args/command", "\xff"}},
		{"a key that is no UTF-8", "annotate", []any{"\xff", "1"}},
		{"no key", "annotate", []any{"", "1"}},
		{"no value", "annotate", []any{"k", ""}},
		{"a text that is no UTF-8", "grant", []any{"\xff"}},
		{"no document", "request_approval", []any{""}},
		{"details that are no object", "request_approval", []any{`{"reason":"x","details":[]}`}},
		{"an empty reason", "request_approval", []any{`{"reason":""}`}},
		{"a list of scopes", "clamp_scopes", []any{`[]`}},
	} {
		u := newTurn(t, nil)
		if u.code(Invalid, c.call, c.args...); u.Poison() == nil {
			t.Errorf("%s, %s: the turn goes on", c.call, c.why)
		}
	}
	u := newTurn(t, nil)
	u.code(0, "request_approval", `{"reason":"x","ttl_s":0,"details":{"a":1}}`)
}

// TestWhereLinksMayBeLookedAt: below what the scopes allow, and on the way there.
func TestWhereLinksMayBeLookedAt(t *testing.T) {
	for _, c := range []struct {
		scope   phases.Scope
		yes, no []string
	}{
		{nil, []string{"/", "/etc/passwd"}, nil},
		{phases.Scope{}, nil, []string{"/", "/etc/passwd"}},
		{phases.Scope{"*"}, []string{"/", "/etc/passwd"}, nil},
		{phases.Scope{"/w/**"}, []string{"/w", "/w/a", "/w/a/b", "/"}, []string{"/etc", "/wx", "/wx/a"}},
		{phases.Scope{"/w/a"}, []string{"/w/a", "/w", "/"}, []string{"/w/a/b", "/w/b", "/w/ab"}},
		{phases.Scope{"/x/**", "/w/a"}, []string{"/x/y", "/w/a"}, []string{"/w/b"}},
	} {
		for want, paths := range map[bool][]string{true: c.yes, false: c.no} {
			for _, p := range paths {
				if inScope(c.scope, p) != want {
					t.Errorf("%q: %s: %v", c.scope, p, !want)
				}
			}
		}
	}
	for _, c := range []struct {
		read, write phases.Scope
		want        bool
	}{{phases.Scope{"/w/**"}, phases.Scope{}, true}, {phases.Scope{}, phases.Scope{"/w/**"}, true},
		{phases.Scope{}, phases.Scope{}, false}} {
		u := newTurn(t, func(cfg *SessionConfig) { cfg.Scopes = phases.Scopes{FSRead: c.read, FSWrite: c.write} })
		if got := u.mayLook("/w/a"); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// plainFiles has no links, and counts how often it is asked.
type plainFiles struct{ asked int }

func (f *plainFiles) Readlink(context.Context, string) (string, error) {
	f.asked++
	return "", fs.ErrNotExist
}

// TestPlacesLookedAt: each place is looked at once in a turn, and at most so many of them.
func TestPlacesLookedAt(t *testing.T) {
	files := new(plainFiles)
	u := newTurn(t, func(cfg *SessionConfig) { cfg.Files = files })
	for i := range maxFileReads {
		if r := u.readlink(t.Context(), fmt.Sprint("/", i)); r.State != "absent" {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	if r := u.readlink(t.Context(), "/0"); r.State != "absent" || files.asked != maxFileReads {
		t.Errorf("a place that was looked at: %+v, asked %d times", r, files.asked)
	}
	if r := u.readlink(t.Context(), "/x"); r.State != links.Unknown || files.asked != maxFileReads ||
		len(u.fileReads) != maxFileReads {
		t.Errorf("one place more: %+v, asked %d times", r, files.asked)
	}
}

// TestTextsAreCut: between characters; an invalid byte counts as the character that replaces it.
func TestTextsAreCut(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 3, "aé"}, {"aé", 2, "a"}, {"é", 1, ""}, {"", 0, ""},
		{"a\xffb", 5, "a\uFFFDb"}, {"a\xffb", 4, "a\uFFFD"}, {"a\xffb", 3, "a"}} {
		if got := cutText(c.text, c.n); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

// brokenPorts fail, each with an answer all the same.
type brokenPorts struct{}

var errPort = errors.New("the port is broken")

func (brokenPorts) Get(context.Context, string) ([]byte, int64, error) {
	return []byte("x"), 1, errPort
}
func (brokenPorts) Usage(context.Context) (int, int, error)          { return 1, 1, errPort }
func (brokenPorts) Readlink(context.Context, string) (string, error) { return "/x", errPort }
func (brokenPorts) RunTool(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error) {
	return jsontext.Value("1"), errPort
}
func (brokenPorts) DoHTTP(context.Context, phases.Actor, jsontext.Value) (jsontext.Value, error) {
	return jsontext.Value("1"), errPort
}

// TestATraceHidesNoError: a port that fails fails as well when it is traced, and the trace says so.
func TestATraceHidesNoError(t *testing.T) {
	var tr Trace
	p := SessionConfig{State: brokenPorts{}, Tools: brokenPorts{}, HTTP: brokenPorts{}, Files: brokenPorts{}}.Record(&tr)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"state":        func() error { _, _, err := p.State.Get(ctx, "k"); return err },
		"usage":        func() error { _, _, err := p.State.Usage(ctx); return err },
		"tools":        func() error { _, err := p.Tools.RunTool(ctx, phases.Actor{}, jsontext.Value("1")); return err },
		"http":         func() error { _, err := p.HTTP.DoHTTP(ctx, phases.Actor{}, jsontext.Value("1")); return err },
		"files, links": func() error { _, err := p.Files.Readlink(ctx, "/x"); return err },
	} {
		before := len(tr.Answers)
		if err := call(); !errors.Is(err, errPort) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "files, links" &&
			(len(tr.Answers) != before+1 || !strings.Contains(tr.Answers[before].Err, errPort.Error())) {
			t.Errorf("%s: traced as %+v", name, tr.Answers[before:])
		}
	}
}
