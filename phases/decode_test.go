package phases

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// sampleActions holds one action for each phase, with the numbers, escapes and
// spacing that must survive as they are.
func sampleActions() map[Phase]string {
	return map[Phase]string{
		PrePlan:         `{"kind":"message","text":"hello","stage":"draft","constraints":["be brief"],"attachments":[{"name":"a.png"}]}`,
		PreSend:         `{"provider":"anthropic","model":"m-1","system":"You are.","messages":[{"role":"user","content":"hi"}],"tools":["read",{"name":"exec","x":1.0}],"params":{"temperature":0.70},"headers":{"Authorization":"Bearer k","x-trace":"1"}}`,
		PostReceive:     `{"kind":"turn","text":"done","messages":[{"role":"assistant","content":[{"type":"text","text":"a"}]}],"stop_reason":"end","usage":{"tokens":12}}`,
		PreTool:         `{"tool":"exec","call_id":"c-1","args":{ "command" : "ls -la", "n": 1e2, "\u0070": "\u0041" }}`,
		PostTool:        `{"tool":"read","call_id":"c-2","args":{"path":"/a"},"result":{"text":"secret"},"is_error":false,"duration_ms":1.5}`,
		StateTransition: `{"machine":"stage","from":"draft","to":"review","data":{"files":["a","b"]}}`,
		Spawn:           `{"parent":"main","child":{"agent":"helper","prompt":"do it","model":"m","tools":["read","exec","write"]},"depth":1}`,
		Audit:           `{"kind":"verdict","data":{"decision":"allow","input":{"token":"t"}}}`,
	}
}

func sampleInvocation(p Phase) Invocation {
	return Invocation{
		ID: "01938c8e-7b1a-7c3d-8e4f-0123456789ab", Phase: p, Runtime: "custom", Session: "s-1", Agent: "coder", Run: "r-1",
		User: "dev", CWD: "/home/dev/project", Action: jsontext.Value(sampleActions()[p]),
		Scopes:      Scopes{FSRead: Scope{"/home/dev/project/**"}, Net: Scope{"proxy.example:443"}, Tools: Scope{"*"}},
		Metadata:    map[string]jsontext.Value{"ticket": jsontext.Value(`{"id": 7}`)},
		Time:        time.Date(2026, 11, 21, 2, 3, 4, 5000, time.UTC),
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}
}

func TestInvocationSurvivesEncoding(t *testing.T) {
	for _, p := range Phases() {
		want := sampleInvocation(p)
		b, err := EncodeInvocation(want)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		got, err := DecodeInvocation(b)
		if err != nil {
			t.Fatalf("%s: %v\n%s", p, err, b)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", p, d)
		}
	}
}

func TestDecodeKeepsSourceBytes(t *testing.T) {
	action := sampleActions()[PreTool]
	inv, err := DecodeInvocation([]byte("\n {\"phase\":\"pre_tool\", \"action\":  " + action + " }\n"))
	if err != nil {
		t.Fatal(err)
	}
	if string(inv.Action) != action {
		t.Errorf("action = %s, want %s", inv.Action, action)
	}
	if v, _ := Get(inv.Action, "/args/n"); string(v) != "1e2" {
		t.Errorf("number = %s, want its own digits", v)
	}
}

// envelope returns an invocation document with members put in before the action.
func envelope(members, action string) string {
	return `{"phase":"pre_tool",` + members + `"action":` + action + `}`
}

const okAction = `{"tool":"exec","args":{}}`

func TestDecodeInvocationRefuses(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 130) + "1" + strings.Repeat("}", 130)
	for name, c := range map[string]struct{ doc, pointer, reason string }{
		"empty":             {``, "", "empty"},
		"not JSON":          {`nope`, "", "not JSON"},
		"array":             {`[]`, "", "wrong type"},
		"cut off":           {`{"phase":"pre_tool"`, "", "too early"},
		"text after":        {envelope("", okAction) + ` {}`, "", "text after"},
		"duplicate":         {envelope(`"run":"a","run":"b",`, okAction), "/run", "duplicate"},
		"duplicate escaped": {envelope(`"run":"a","r\u0075n":"b",`, okAction), "/run", "duplicate"},
		"duplicate deep": {envelope(``, `{"tool":"exec","args":{"x":[{"a":1,"a":2}]}}`), "/action/args/x/0/a",
			"duplicate"},
		"bad UTF-8":         {envelope("\"run\":\"\xff\",", okAction), "/run", "UTF-8"},
		"bad UTF-8 deep":    {envelope(``, "{\"tool\":\"exec\",\"args\":{\"x\":\"\xc3\"}}"), "/action/args/x", "UTF-8"},
		"half surrogate":    {envelope(``, `{"tool":"exec","args":{"x":"\ud800"}}`), "/action/args/x", "not JSON"},
		"unknown":           {envelope(`"extra":1,`, okAction), "/extra", "unknown member"},
		"other case":        {envelope(`"Run":"x",`, okAction), "/Run", "unknown member"},
		"unknown in scopes": {envelope(`"scopes":{"fs":[]},`, okAction), "/scopes/fs", "unknown member"},
		"unknown in action": {envelope(``, `{"tool":"exec","args":{},"extra":1}`), "/action/extra", "unknown member"},
		"unknown in mcp": {envelope(``, `{"tool":"x","args":{},"mcp":{"server":"a","tool":"b","c":1}}`),
			"/action/mcp/c", "unknown member"},
		"wrong type":      {envelope(`"run":1,`, okAction), "/run", "wrong type: a number instead of a string"},
		"null":            {envelope(`"run":null,`, okAction), "/run", "null"},
		"null scopes":     {envelope(`"scopes":null,`, okAction), "/scopes", "null"},
		"null scope":      {envelope(`"scopes":{"net":null},`, okAction), "/scopes/net", "null"},
		"scope of null":   {envelope(`"scopes":{"net":[null]},`, okAction), "/scopes/net/0", "null"},
		"scope is string": {envelope(`"scopes":{"net":"*"},`, okAction), "/scopes/net", "array of strings"},
		"null mcp":        {envelope(``, `{"tool":"x","args":{},"mcp":null}`), "/action/mcp", "null"},
		"bad pattern": {envelope(`"scopes":{"fs_read":["/a","/a/../b"]},`, okAction), "/scopes/fs_read/1",
			"not clean"},
		"deep":              {envelope(``, `{"tool":"exec","args":`+deep+`}`), "/action/args", "deeper than 128"},
		"no phase":          {`{"action":{}}`, "", `"phase" is missing`},
		"no action":         {`{"phase":"pre_tool"}`, "", `"action" is missing`},
		"unknown phase":     {`{"phase":"pre_tol","action":{}}`, "/phase", "unknown phase"},
		"phase in capitals": {`{"phase":"PRE_TOOL","action":{}}`, "/phase", "unknown phase"},
		"action is array":   {`{"phase":"pre_tool","action":[]}`, "/action", "not an object"},
		"action is null":    {`{"phase":"pre_tool","action":null}`, "/action", "not an object"},
		"args missing":      {envelope(``, `{"tool":"exec"}`), "/action", `"args" is missing`},
		"args array":        {envelope(``, `{"tool":"exec","args":[]}`), "/action/args", "an array instead of an object"},
		"args null":         {envelope(``, `{"tool":"exec","args":null}`), "/action/args", "null instead of an object"},
		"tool missing":      {envelope(``, `{"args":{}}`), "/action", `"tool" is missing`},
		"tool empty":        {envelope(``, `{"tool":"","args":{}}`), "/action/tool", "empty"},
		"tool with newline": {envelope(``, `{"tool":"exec\n","args":{}}`), "/action/tool", "control"},
		"id is v4":          {envelope(`"id":"5f0c954e-3c3d-4d5e-8a9b-0123456789ab",`, okAction), "/id", "UUIDv7"},
		"id is empty":       {envelope(`"id":"",`, okAction), "/id", "UUIDv7"},
		"id in braces":      {envelope(`"id":"{01938c8e-7b1a-7c3d-8e4f-0123456789ab}",`, okAction), "/id", "UUIDv7"},
		"id bad variant":    {envelope(`"id":"01938c8e-7b1a-7c3d-ce4f-0123456789ab",`, okAction), "/id", "UUIDv7"},
		"time":              {envelope(`"time":"2026-11-21 02:03:04Z",`, okAction), "/time", "RFC 3339"},
		"time empty":        {envelope(`"time":"",`, okAction), "/time", "RFC 3339"},
		"time year 1":       {envelope(`"time":"0001-01-01T00:00:00Z",`, okAction), "/time", "1970"},
		"time beyond int64": {envelope(`"time":"9999-01-01T00:00:00Z",`, okAction), "/time", "2200"},
		"traceparent": {envelope(`"traceparent":"00-00000000000000000000000000000000-00f067aa0ba902b7-01",`,
			okAction), "/traceparent", "traceparent"},
		"cwd":                   {envelope(`"cwd":"project",`, okAction), "/cwd", "absolute"},
		"session with control":  {envelope(`"session":"a\u0000b",`, okAction), "/session", "control"},
		"session with escape":   {envelope(`"session":"\u001b[31m",`, okAction), "/session", "control"},
		"session with override": {envelope(`"session":"\u202eabc",`, okAction), "/session", "control"},
		"session too long":      {envelope(`"session":"`+strings.Repeat("x", 257)+`",`, okAction), "/session", "256"},
		"runtime too long":      {envelope(`"runtime":"`+strings.Repeat("x", 65)+`",`, okAction), "/runtime", "64"},
		"metadata key":          {envelope(`"metadata":{"a/b":1},`, okAction), "/metadata", "characters"},
		"metadata size": {envelope(`"metadata":{"a":"`+strings.Repeat("x", 65<<10)+`"},`, okAction), "/metadata",
			"bytes of metadata"},
		"huge number depth": {envelope(`"metadata":[],`, okAction), "/metadata", "wrong type"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeInvocation([]byte(c.doc))
			var d *DecodeError
			if !errors.As(err, &d) || !errors.Is(err, ErrDecode) {
				t.Fatalf("err = %v, want a *DecodeError", err)
			}
			if name == "deep" {
				if !strings.HasPrefix(d.Pointer, c.pointer) {
					t.Errorf("pointer = %q", d.Pointer)
				}
			} else if d.Pointer != c.pointer {
				t.Errorf("pointer = %q, want %q (%v)", d.Pointer, c.pointer, err)
			}
			if !strings.Contains(d.Reason, c.reason) {
				t.Errorf("reason = %q, want %q in it", d.Reason, c.reason)
			}
			if hasControl(err.Error()) {
				t.Errorf("the error shows control characters: %q", err.Error())
			}
			if d.Line < 1 || d.Column < 1 || d.Offset < 0 || d.Offset > int64(len(c.doc)) {
				t.Errorf("no place: offset %d line %d column %d of %d bytes", d.Offset, d.Line, d.Column, len(c.doc))
			}
		})
	}
}

func TestDecodeErrorNamesThePlace(t *testing.T) {
	doc := "{\"phase\":\"pre_tool\",\n \"action\":{\"tool\":\"éxec\",\n  \"args\": [1]}}"
	_, err := DecodeInvocation([]byte(doc))
	var d *DecodeError
	if !errors.As(err, &d) {
		t.Fatal(err)
	}
	want := DecodeError{
		Pointer: "/action/args", Offset: int64(strings.Index(doc, "[1]")), Line: 3, Column: 11,
		Reason: "has the wrong type: an array instead of an object",
	}
	if diff := cmp.Diff(want, *d); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeLimits(t *testing.T) {
	doc := []byte(envelope("", okAction))
	if _, err := decodeInvocationLimits(doc, limits{maxBytes: len(doc)}); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := decodeInvocationLimits(doc, limits{maxBytes: len(doc) - 1}); !errors.Is(err, ErrDecode) {
		t.Errorf("above the size limit: %v", err)
	}
	if _, err := decodeInvocationLimits(doc, limits{maxDepth: 3}); err != nil {
		t.Errorf("at the depth limit: %v", err)
	}
	if _, err := decodeInvocationLimits(doc, limits{maxDepth: 2}); !errors.Is(err, ErrDecode) {
		t.Errorf("above the depth limit: %v", err)
	}
	big := envelope("", `{"tool":"exec","args":{"x":"`+strings.Repeat("x", MaxInputBytes)+`"}}`)
	if _, err := DecodeInvocation([]byte(big)); !errors.Is(err, ErrDecode) {
		t.Errorf("above the default limit: %v", err)
	}
}

func TestDecodeAction(t *testing.T) {
	for p, ok := range sampleActions() {
		a, err := DecodeAction(p, jsontext.Value(ok))
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		if a.phase() != p {
			t.Errorf("%s: got the action of %s", p, a.phase())
		}
	}
	for _, c := range []struct {
		phase           Phase
		action, pointer string
	}{
		{PrePlan, `{"kind":"chat"}`, "/kind"},
		{PrePlan, `{"text":"x"}`, ""},
		{PrePlan, `{"kind":"command"}`, ""},
		{PrePlan, `{"kind":"message","command":"x"}`, "/command"},
		{PrePlan, `{"kind":"message","constraints":"x"}`, "/constraints"},
		{PreSend, `{"model":"m"}`, ""},
		{PreSend, `{"provider":"p","system":1}`, "/system"},
		{PreSend, `{"provider":"p","messages":[{"role":"user"}]}`, "/messages/0"},
		{PreSend, `{"provider":"p","messages":[{"role":"user","content":{}}]}`, "/messages/0/content"},
		{PreSend, `{"provider":"p","messages":[{"role":"","content":""}]}`, "/messages/0/role"},
		{PreSend, `{"provider":"p","messages":[{"role":"user","content":"","x":1}]}`, "/messages/0/x"},
		{PreSend, `{"provider":"p","tools":[{"title":"x"}]}`, "/tools/0"},
		{PreSend, `{"provider":"p","tools":[7]}`, "/tools/0"},
		{PreSend, `{"provider":"p","params":[]}`, "/params"},
		{PreSend, `{"provider":"p","headers":{"a":1}}`, "/headers/a"},
		{PostReceive, `{"kind":"stream"}`, "/kind"},
		{PostReceive, `{"kind":"turn","usage":3}`, "/usage"},
		{PreTool, `{"tool":"x","args":{},"mcp":{"server":"s"}}`, "/mcp"},
		{PostTool, `{"tool":"x"}`, ""},
		{PostTool, `{"tool":"x","result":1,"args":[]}`, "/args"},
		{PostTool, `{"tool":"x","result":1,"duration_ms":-1}`, "/duration_ms"},
		{PostTool, `{"tool":"x","result":1,"is_error":"no"}`, "/is_error"},
		{StateTransition, `{"from":"a"}`, ""},
		{StateTransition, `{"machine":"stage","data":"x"}`, "/data"},
		{Spawn, `{"parent":"p"}`, ""},
		{Spawn, `{"child":{"prompt":"x"}}`, "/child"},
		{Spawn, `{"child":{"agent":"a","tools":[""]}}`, "/child/tools/0"},
		{Spawn, `{"child":{"agent":"a"},"depth":-1}`, "/depth"},
		{Spawn, `{"child":{"agent":"a"},"depth":1.5}`, "/depth"},
		{Audit, `{"data":{}}`, ""},
		{Audit, `{"kind":"x","data":[]}`, "/data"},
		{Audit, `{"kind":"x","decision":"allow"}`, "/decision"},
		{"nope", `{}`, ""},
	} {
		_, err := DecodeAction(c.phase, jsontext.Value(c.action))
		var d *DecodeError
		if !errors.As(err, &d) {
			t.Errorf("%s %s: err = %v", c.phase, c.action, err)
			continue
		}
		if d.Pointer != c.pointer {
			t.Errorf("%s %s: pointer %q, want %q (%v)", c.phase, c.action, d.Pointer, c.pointer, err)
		}
	}
	if a, err := DecodeAction(PostTool, jsontext.Value(`{"tool":"x","result":null}`)); err != nil {
		t.Errorf("a result of null: %v", err)
	} else if string(a.(*PostToolAction).Result) != "null" {
		t.Errorf("a result of null became %q", a.(*PostToolAction).Result)
	}
}

func TestEncodeRefusesWhatDecodeRefuses(t *testing.T) {
	for name, change := range map[string]func(*Invocation){
		"phase":    func(i *Invocation) { i.Phase = "x" },
		"action":   func(i *Invocation) { i.Action = jsontext.Value(`{"tool":"x"}`) },
		"no JSON":  func(i *Invocation) { i.Action = jsontext.Value(`{"tool":"exec","args":{}}}`) },
		"nothing":  func(i *Invocation) { i.Action = nil },
		"scope":    func(i *Invocation) { i.Scopes.Net = Scope{"a"} },
		"metadata": func(i *Invocation) { i.Metadata = map[string]jsontext.Value{"a": jsontext.Value(`{"b":1,"b":2}`)} },
		"session":  func(i *Invocation) { i.Session = "a\nb" },
		"cwd":      func(i *Invocation) { i.CWD = "a" },
	} {
		inv := sampleInvocation(PreTool)
		change(&inv)
		if _, err := EncodeInvocation(inv); !errors.Is(err, ErrDecode) {
			t.Errorf("%s: err = %v", name, err)
		}
		if _, err := NewChain(inv, nil, Scopes{}); !errors.Is(err, ErrDecode) {
			t.Errorf("%s: NewChain: err = %v", name, err)
		}
	}
}
