package phases

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestEffectBounds: the limits on effects are where limits.go says, to the byte.
func TestEffectBounds(t *testing.T) {
	action := jsontext.Value(sampleActions()[PreTool])
	write := func(size int) Effect { // path and value together
		return setArg("n", `"`+strings.Repeat("x", size-len("/args/n")-2)+`"`)
	}
	if _, err := ApplyEffect(PreTool, PassMutate, action, almighty(), write(maxEffectBytes)); err != nil {
		t.Errorf("the largest effect: %v", err)
	}
	if _, err := ApplyEffect(PreTool, PassMutate, action, almighty(), write(maxEffectBytes+1)); !errors.Is(err,
		ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	// All effects of a turn together are bounded, too; blocks are not counted.
	turn := func(last int, more ...Effect) TurnResult {
		c, err := NewChain(Invocation{Phase: PreTool, Action: action}, nil, Scopes{})
		if err != nil {
			t.Fatal(err)
		}
		var effects []Effect
		for range maxEffectsBytes/maxEffectBytes - 1 {
			effects = append(effects, write(maxEffectBytes))
		}
		return c.Add(Turn{By: named("a"), Pass: PassMutate, Effects: append(append(effects, write(last)), more...)})
	}
	if r := turn(maxEffectBytes); r.Decision != HookTransform {
		t.Errorf("as much as a turn may ask for: %+v", r)
	}
	if r := turn(maxEffectBytes, contextWith("x")); r.Decision != HookError || r.Kind != KindOutput ||
		!strings.Contains(r.Reason, "too much") {
		t.Errorf("one byte more: %+v", r)
	}
	if r := turn(maxEffectBytes, blockWith("x")); r.Decision != HookBlock {
		t.Errorf("a block beside it: %+v", r)
	}
	// An action may be as large as an invocation, after a rewrite, too.
	grow := func(size int) error {
		const around = `{"tool":"exec","args":{"command":""}}`
		e := Effect{Kind: EffectRewrite, Path: "/args/command",
			Value: jsontext.Value(`"` + strings.Repeat("y", 200<<10) + `"`)}
		full := jsontext.Value(`{"tool":"exec","args":{"a":"` +
			strings.Repeat("x", size-len(around)-(200<<10)-len(`"a":"",`)) + `","command":""}}`)
		out, err := ApplyEffect(PreTool, PassMutate, full, almighty(), e)
		if err == nil && len(out) != size {
			t.Errorf("%d bytes, want %d", len(out), size)
		}
		return err
	}
	if err := grow(MaxInputBytes); err != nil {
		t.Errorf("the largest action: %v", err)
	}
	if err := grow(MaxInputBytes + 1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
}

// TestAfterTheEnd: a chain that has ended says so to whatever comes after, and stays as it ended.
func TestAfterTheEnd(t *testing.T) {
	ended := func() *Chain {
		c, err := NewChain(Invocation{Phase: PreTool, Action: jsontext.Value(sampleActions()[PreTool])}, nil, Scopes{})
		if err != nil {
			t.Fatal(err)
		}
		c.Add(turn("first", blockWith("no")))
		return c
	}
	if r := ended().checkScopes(); !r.Stop || !r.Discarded || r.Decision != "" {
		t.Errorf("scopes: %+v", r)
	}
	c := ended()
	if r := c.Fail("x", NewFault(KindStore, "down", nil)); !r.Stop || !r.Discarded || c.Result().Kind != KindPolicy ||
		c.Result().DecidedBy != "first" {
		t.Errorf("a failure: %+v, %+v", r, c.Result())
	}
	c = ended()
	if r := c.Add(turn("second", setArg("a", "1"))); !r.Stop || !r.Discarded || len(r.Notes) != 1 ||
		c.Result().DecidedBy != "first" {
		t.Errorf("a turn: %+v", r)
	}
	watching := turn("watcher", setArg("a", "1"))
	watching.By.Mode = Observe
	if r := ended().Add(watching); !r.Stop || r.Decision != HookTransform {
		t.Errorf("an observer: %+v", r)
	}
	watching.Fault = NewFault(KindTrap, "trapped", io.EOF)
	if r := ended().Add(watching); !r.Stop || r.Decision != HookError || r.Kind != KindTrap || r.Reason != "trapped" {
		t.Errorf("an observer that fails: %+v", r)
	}
	// A failure never passes for a decision, and one without a name is the kernel's.
	c, err := NewChain(Invocation{Phase: PreTool, Action: jsontext.Value(sampleActions()[PreTool])}, nil, Scopes{})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Fail("", NewFault(KindPolicy, "x", nil)); r.Kind != KindProtocol || c.Result().DecidedBy != "belay" ||
		!c.Stopped() {
		t.Errorf("%+v, %+v", r, c.Result())
	}
	for kind := range map[Kind]bool{"": true, KindFuel: true} {
		c, _ := NewChain(Invocation{Phase: PreTool, Action: jsontext.Value(sampleActions()[PreTool])}, nil, Scopes{})
		if r := c.Add(Turn{By: named("a"), Fault: NewFault(kind, "why", nil), FailText: "said"}); r.Reason != "why: said" ||
			r.Kind == "" || !r.Stop {
			t.Errorf("%q: %+v", kind, r)
		}
	}
}

// TestObserversOfAudit: an observing hook of the audit phase is held to what that phase permits.
func TestObserversOfAudit(t *testing.T) {
	for effect, want := range map[string]HookDecision{"redact": HookTransform, "block": HookError} {
		c, err := NewChain(Invocation{Phase: Audit, Action: jsontext.Value(sampleActions()[Audit])}, nil, Scopes{})
		if err != nil {
			t.Fatal(err)
		}
		e := effectsOf(Audit)[3]
		if effect == "block" {
			e = effectsOf(Audit)[5]
		}
		by := named("watcher")
		by.Mode = Observe
		if r := c.Add(Turn{By: by, Effects: []Effect{e}}); r.Decision != want {
			t.Errorf("%s: %+v", effect, r)
		}
		if !Same(c.View().Action, jsontext.Value(sampleActions()[Audit])) {
			t.Errorf("%s: the record was changed", effect)
		}
	}
}

// TestScopesTogetherByKind: each of the four kinds counts where scopes are compared, checked and cut.
func TestScopesTogetherByKind(t *testing.T) {
	set := func(kind string, v Scope) (s Scopes) {
		switch kind {
		case "fs_read":
			s.FSRead = v
		case "fs_write":
			s.FSWrite = v
		case "net":
			s.Net = v
		case "tools":
			s.Tools = v
		}
		return s
	}
	good := map[string]string{"fs_read": "/a", "fs_write": "/b", "net": "h.example:443", "tools": "exec"}
	for kind, pattern := range good {
		narrow, wide := set(kind, Scope{pattern}), Scopes{}
		if narrow.Contains(wide) || !wide.Contains(narrow) || narrow.Equal(wide) || !narrow.Equal(narrow.Normalize()) {
			t.Errorf("%s does not count", kind)
		}
		if got := wide.Intersect(narrow); !got.Equal(narrow) {
			t.Errorf("%s: cut to %+v", kind, got)
		}
		var e *scopeError
		if err := set(kind, Scope{pattern, "\x00"}).Validate(); !errors.As(err, &e) || e.pointer != "/"+kind+"/1" {
			t.Errorf("%s: %v", kind, err)
		}
		many := make(Scope, maxScopePatterns+1)
		for i := range many {
			many[i] = pattern
		}
		if err := set(kind, many[1:]).Validate(); err != nil {
			t.Errorf("%s: as many patterns as there may be: %v", kind, err)
		}
		if err := set(kind, many).Validate(); !errors.Is(err, ErrScope) {
			t.Errorf("%s: one more: %v", kind, err)
		}
	}
	if s := (Scope{"x"}); s.Validate("odd") == nil || s.Contains("odd", Scope{"x"}) || len(s.Normalize("odd")) != 0 ||
		len(s.Intersect("odd", s)) != 0 {
		t.Error("a kind that is none has a meaning")
	}
	long := "/" + strings.Repeat("x", maxPatternBytes-1)
	if err := (Scope{long}).Validate(ScopePath); err != nil || !(Scope{long}).allowsPath(long) {
		t.Errorf("the longest pattern: %v", err)
	}
	if err := (Scope{long + "x"}).Validate(ScopePath); err == nil || (Scope{long + "x"}).allowsPath(long+"x") {
		t.Error("a longer one is accepted")
	}
}

// TestNetPatterns: ports that touch are one range, numbers in any base are no names, odd spellings are refused.
func TestNetPatterns(t *testing.T) {
	for want, scope := range map[string]Scope{
		"[h.example:1-4]":               {"h.example:1-2", "h.example:3-4"},
		"[h.example:1-2 h.example:4-5]": {"h.example:4-5", "h.example:1-2"},
		"[h.example:1-5]":               {"h.example:1-3", "h.example:2-5"},
		"[h.example:*]":                 {"H.Example.:1-65535"},
		"[[::1]:80]":                    {"[::1]:80"},
		"[10.0.0.1:80]":                 {"[::ffff:10.0.0.1]:80"},
		"[*.example:1]":                 {"*.example:1", "a.example:1"},
	} {
		if got := fmt.Sprint(scope.Normalize(ScopeNet)); got != want {
			t.Errorf("%v: %s, want %s", scope, got, want)
		}
	}
	for _, bad := range []string{"h", "h:", "h:0", "h:65536", "h:2-1", "h:1-", "h:01", "[::1]", "[::1:80", "[10.0.0.1]:80",
		"[::1%eth0]:80", "0x7f:80", "a.0x7f:80", "1.2:80", "127.1:80",
		"-a:80", "a-:80", "a..b:80", ".a:80", "a b:80", "a/b:80", "a:b:80", "*.10.0.0.1:80", "**:80",
		strings.Repeat("a", 64) + ":80", strings.Repeat("a.", 127) + "ab:80"} {
		if err := (Scope{bad}).Validate(ScopeNet); !errors.Is(err, ErrScope) {
			t.Errorf("%s is accepted", bad)
		}
	}
	for _, good := range []string{"0xg:80", "a_b:80", strings.Repeat("a", 63) + ":80", strings.Repeat("a.", 126) + "a:80",
		"h:1", "h:65535", "9a:80"} {
		if err := (Scope{good}).Validate(ScopeNet); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for port, want := range map[int]bool{0: false, 1: true, 65535: true, 65536: false} {
		if got := (Scope)(nil).allowsHost("h.example", port); got != want {
			t.Errorf("port %d: %v", port, got)
		}
	}
}

// TestToolNamesAtTheirEdges: which names are MCP tools, and which have another name in a runtime.
func TestToolNamesAtTheirEdges(t *testing.T) {
	for _, c := range []struct {
		runtime, native, want string
		known                 bool
	}{
		{"openclaw", "task", "task", false}, {"openclaw", "Task", "Task", false}, {"openclaw", "exec", "exec", true},
		{"claude-code", "task", "sessions_spawn", true},
		{"", "mcp__a__b", "mcp:a:b", true}, {"", "mcp__a__b__c", "mcp:a:b__c", true}, {"", "mcp__a__", "mcp__a__", false},
		{"", "mcp____b", "mcp____b", false}, {"", "mcp__a", "mcp__a", false},
		{"", "mcp__a:b__c*d", "mcp:a%3Ab:c%2Ad", true}, {"", "Apply.Patch", "apply_patch", true},
		{"", "no such", "no such", false},
	} {
		if got, known := NormalizeTool(c.runtime, c.native); got != c.want || known != c.known {
			t.Errorf("%s %s: %s, %v; want %s, %v", c.runtime, c.native, got, known, c.want, c.known)
		}
	}
	for name, want := range map[string]string{"mcp:a:b": "a b true", "mcp:a%3Ab:c": "a:b c true", "mcp__a__b": "a b true",
		"mcp:a:": "false", "mcp::b": "false", "mcp:a": "false", "mcp:a:b:c": "false", "exec": "false"} {
		server, tool, ok := SplitMCPTool(name)
		if got := strings.TrimSpace(fmt.Sprintf("%s %s %v", server, tool, ok)); ok && got != want || !ok && want != "false" {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]bool{"exec": true, "a b": false, "": false, "a:": false, ":a": false, "a::b": false,
		strings.Repeat("x", MaxIDBytes): true, strings.Repeat("x", MaxIDBytes+1): false, "a\x7f": false} {
		if got := (Scope{"*:*", "exec", name}).AllowsTool(name); got != want {
			t.Errorf("%q in its own scope: %v", name, got)
		}
		if got := (Scope)(nil).AllowsTool(name); got != (name != "") {
			t.Errorf("%q in every scope: %v", name, got)
		}
		if (Scope{"other"}).AllowsTool(name) {
			t.Errorf("%q in another scope", name)
		}
	}
	starred := Invocation{Phase: PreTool, Runtime: "claude-code", Session: "s",
		Action: jsontext.Value(`{"tool":"mcp__a__` + strings.Repeat("*", 100) + `","args":{}}`)}
	if _, err := starred.Check(); err == nil || !strings.Contains(err.Error(), "/action/tool") {
		t.Errorf("a name that is too long in its other form: %v", err)
	}
	if Proposed.Rank() != 1 || Sandboxed.Rank() != 2 || Trusted.Rank() != 3 || Tier("x").Rank() != 0 {
		t.Errorf("ranks %d %d %d %d", Proposed.Rank(), Sandboxed.Rank(), Trusted.Rank(), Tier("x").Rank())
	}
}

// TestFetchedPlaces: the port of a URL is that of its scheme unless it names one, under every name of such an argument.
func TestFetchedPlaces(t *testing.T) {
	call := func(args string, net ...string) error {
		action := jsontext.Value(`{"tool":"web_fetch","args":` + args + `}`)
		return CheckScopes(Invocation{Phase: PreTool, Action: action}, action, Scopes{Net: net})
	}
	for _, c := range []struct {
		url, scope string
		in         bool
	}{
		{"http://h.example/x", "h.example:80", true}, {"http://h.example/x", "h.example:81", false},
		{"HTTPS://h.example/x", "h.example:443", true}, {"https://h.example/x", "h.example:444", false},
		{"ws://h.example", "h.example:80", true}, {"wss://h.example", "h.example:443", true},
		{"wss://h.example", "h.example:80", false},
		{"https://h.example:8443/x", "h.example:8443", true}, {"https://h.example:8443/x", "h.example:443", false},
		{"file:///etc/passwd", "h.example:*", false}, {"//h.example/x", "h.example:443", false},
		{"https:///x", "h.example:443", false}, {":", "h.example:443", false},
	} {
		if err := call(`{"url":"`+c.url+`"}`, c.scope); (err == nil) != c.in {
			t.Errorf("%s in %s: %v", c.url, c.scope, err)
		}
	}
	for _, name := range []string{"uri", "href", "link", "endpoint", "baseUrl"} {
		if err := call(`{"url":"https://h.example","`+name+`":"https://evil.example"}`, "h.example:443"); !errors.Is(err,
			ErrOutside) {
			t.Errorf("another place under %s: %v", name, err)
		}
	}
	if err := call(`{"prompt":"https://h.example"}`, "h.example:443"); !errors.Is(err, ErrOutside) {
		t.Errorf("no URL: %v", err)
	}
}

// TestValidatePassOfHeaders: a mutator that is called again may write headers in another order, and nothing else.
func TestValidatePassOfHeaders(t *testing.T) {
	action := jsontext.Value(
		`{"provider":"p","model":"m","messages":[],"headers":{"a":"1","Authorization":"secret","b":"2"}}`)
	apply := func(value string) error {
		_, err := ApplyEffect(PreSend, PassValidate, action, almighty(),
			Effect{Kind: EffectRewrite, Path: "/headers", Value: jsontext.Value(value)})
		return err
	}
	if err := apply(`{"b":"2","a":"1"}`); err != nil {
		t.Errorf("another order: %v", err)
	}
	if err := apply(`{"b":"2","a":"2"}`); !errors.Is(err, errUnstable) {
		t.Errorf("another value: %v", err)
	}
	if err := apply(`{"b":"2","a":"1","cookie":"x"}`); !errors.Is(err, ErrDenied) {
		t.Errorf("a credential: %v", err)
	}
	if _, err := ApplyEffect(PreSend, PassValidate, action, almighty(),
		Effect{Kind: EffectRewrite, Path: "/headers/a", Remove: true}); !errors.Is(err, errUnstable) {
		t.Errorf("a removal: %v", err)
	}
	tools := jsontext.Value(`{"provider":"p","model":"m","messages":[]}`)
	if _, err := ApplyEffect(PreSend, PassMutate, tools, almighty(),
		Effect{Kind: EffectRewrite, Path: "/tools", Value: jsontext.Value(`[{"name":"exec"}]`)}); !errors.Is(err,
		errInvalid) {
		t.Errorf("tools where there were none: %v", err)
	}
	if _, err := ApplyEffect(PreSend, PassMutate, tools, almighty(),
		Effect{Kind: EffectRewrite, Path: "/tools", Value: jsontext.Value(`[ ]`)}); err != nil &&
		!errors.Is(err, errInvalid) {
		t.Errorf("an empty list: %v", err)
	}
}
