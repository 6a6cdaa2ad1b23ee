package server_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// documented checks an answer against what openapi.json says about it.
func documented(t *testing.T, method, path string, resp reply, body string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(server.OpenAPI()))
	if err != nil {
		t.Fatal(err)
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	at := doc
	steps := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(resp.StatusCode), "content", kind,
		"schema"}
	for _, s := range steps {
		m, _ := at.(map[string]any)
		if at = m[s]; at == nil {
			t.Errorf("%s %s: status %d with %s is not documented: %s", method, path, resp.StatusCode, kind, body)
			return
		}
	}
	if kind != "application/json" {
		return
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("mem:///openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	pointer := ""
	for _, s := range steps {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
	}
	schema, err := c.Compile("mem:///openapi.json#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Errorf("%s %s: status %d: %v\n%s", method, path, resp.StatusCode, err, body)
	}
}

// What each route answers, good and bad, in the documented form.
func TestAnswers(t *testing.T) {
	d := startDaemon(t, withConfig(guardConfig))
	admin, review := bearer(d.token(t, client.RoleAdmin)), bearer(d.token(t, client.RoleReview))
	claude, err := os.ReadFile("../../../adapters/claude-code/testdata/captured/PreToolUse.Bash.json")
	if err != nil {
		t.Fatal(err)
	}
	codexCall, err := os.ReadFile("../../../adapters/codex/testdata/captured/PreToolUse.Bash.json")
	if err != nil {
		t.Fatal(err)
	}
	start := `{"session_id":"s-9","hook_event_name":"SessionStart","source":"startup","cwd":"/"`
	for _, c := range []struct {
		name         string
		method, path string
		doc          string // the documented path, when another one
		header       map[string]string
		body         string
		status       int
		has          string
	}{
		{"allow", "POST", "/v1/invoke", "", nil, asking("ls"), 200, `"decision":"allow"`},
		{"block", "POST", "/v1/invoke", "", nil, asking("rm -rf /"), 200, `"decision":"block"`},
		{"ask", "POST", "/v1/invoke", "", nil, asking(`eval $X`), 200, `"decision":"ask"`},
		{"no JSON", "POST", "/v1/invoke", "", nil, `{`, 400, `"event":{"seq":`},
		{"two names", "POST", "/v1/invoke", "", nil, `{"phase":"pre_tool","phase":"pre_plan"}`, 400, `"decision":"block"`},
		{"unknown member", "POST", "/v1/invoke", "", nil, strings.Replace(asking("ls"), "{", `{"allow":true,`, 1), 400,
			`"pointer":"/allow"`},
		{"nothing", "POST", "/v1/invoke", "", nil, ` `, 400, `invalid_invocation`},
		{"a verdict", "POST", "/v1/invoke", "", nil, `{"decision":"allow"}`, 400, `invalid_invocation`},
		{"too large", "POST", "/v1/invoke", "", nil, asking(strings.Repeat("x", phases.MaxInputBytes)), 413,
			`"event":{"seq":`},
		{"parameters", "POST", "/v1/invoke?unsafe=1", "/v1/invoke", nil, asking("ls"), 400, `"decision":"block"`},
		{"a form", "POST", "/v1/invoke", "", map[string]string{"Content-Type": "text/plain"}, asking("ls"), 415,
			`media_type`},

		{"claude", "POST", "/adapters/claude-code?event=PreToolUse", "/adapters/{runtime}", nil, string(claude), 200, `{}`},
		{"claude: another event", "POST", "/adapters/claude-code?event=PostToolUse", "/adapters/{runtime}", nil,
			string(claude), 200, ``},
		{"claude: bytes", "POST", "/adapters/claude-code?event=PreToolUse", "/adapters/{runtime}", nil, `garbage`, 200,
			`"permissionDecision":"deny"`},
		{"claude: unknown parameter", "POST", "/adapters/claude-code?event=PreToolUse&x=1", "/adapters/{runtime}", nil,
			string(claude), 200, `parameters that belay does not know`},
		{"claude: parameter twice", "POST", "/adapters/claude-code?event=PreToolUse&event=Stop", "/adapters/{runtime}", nil,
			string(claude), 200, `parameters that belay does not know`},
		{"claude: a broken parameter", "POST", "/adapters/claude-code?event=PreToolUse&x=%zz", "/adapters/{runtime}", nil,
			string(claude), 200, `parameters that belay does not know`},
		{"claude: empty parameter", "POST", "/adapters/claude-code?event=", "/adapters/{runtime}", nil, string(claude), 200,
			`parameters that belay does not know`},
		{"claude: too large", "POST", "/adapters/claude-code?event=Stop", "/adapters/{runtime}", nil,
			`{"hook_event_name":"Stop","x":"` + strings.Repeat("x", 3<<20) + `"}`, 200, `"continue":false`},
		{"claude: no event", "POST", "/adapters/claude-code", "/adapters/{runtime}", nil, `{}`, 500, ``},
		{"claude: start that cannot be read", "POST", "/adapters/claude-code?event=SessionStart", "/adapters/{runtime}", nil,
			start, 200, `systemMessage`},
		{"claude: as a command", "POST", "/adapters/claude-code?event=PreToolUse", "/adapters/{runtime}",
			map[string]string{"Accept": daemonapi.AnswerType}, `garbage`, 200, `"exit":2`},
		// Codex reads no bodies: it starts commands, and one that asks for it gets what the command is to do.
		{"codex: a body", "POST", "/adapters/codex?event=PreToolUse", "/adapters/{runtime}", nil, string(codexCall), 406,
			`reads no HTTP answers`},
		{"codex: as a command", "POST", "/adapters/codex?event=PreToolUse", "/adapters/{runtime}",
			map[string]string{"Accept": daemonapi.AnswerType}, string(codexCall), 200, `"stdout":"{}"`},
		{"codex: a block", "POST", "/adapters/codex?event=PreToolUse", "/adapters/{runtime}",
			map[string]string{"Accept": daemonapi.AnswerType},
			strings.Replace(string(codexCall), "git status --short", "rm -rf /", 1), 200,
			`{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",`},
		{"codex: bytes", "POST", "/adapters/codex?event=PermissionRequest", "/adapters/{runtime}",
			map[string]string{"Accept": daemonapi.AnswerType}, `garbage`, 200, `\"behavior\":\"deny\"`},
		{"another runtime", "POST", "/adapters/nobody", "/adapters/{runtime}", nil, `{}`, 404, `"decision":"block"`},

		{"hooks", "GET", "/v1/hooks", "", review, "", 200, `command-guard`},
		{"status", "GET", "/v1/status", "", review, "", 200, `"healthy":true`},
		{"latches", "GET", "/v1/latches", "", review, "", 200, `s-9`},
		{"clear", "POST", "/v1/latches/clear", "", admin, `{"runtime":"claude-code","session":"s-9"}`, 200, `s-9`},
		{"clear again", "POST", "/v1/latches/clear", "", admin, `{"runtime":"claude-code","session":"s-9"}`, 404,
			`not_found`},
		{"clear nothing", "POST", "/v1/latches/clear", "", admin, `{"session":"s-9"}`, 400, `invalid_request`},
		{"clear more", "POST", "/v1/latches/clear", "", admin, `{"runtime":"claude-code","session":"s-9","all":true}`, 400,
			`invalid_request`},
		{"layers", "GET", "/v1/config/effective", "", review, "", 200, `"layer":"directory"`},
		{"a layer where there are none", "POST", "/v1/config/user", "", admin, `{"remove":true}`, 409,
			`not the daemon of system mode`},
		{"a layer and its removal", "POST", "/v1/config/user", "", admin, `{"file":"x","remove":true}`, 400,
			`invalid_request`},
		{"a layer of two names", "POST", "/v1/config/user", "", admin, `{"file":"x","file":"y"}`, 400, `invalid_request`},
		{"a layer too large", "POST", "/v1/config/user", "", admin, `{"file":"` + strings.Repeat("x", 1<<20) + `"}`, 413,
			`too_large`},
		{"accept nothing", "POST", "/v1/config/accept", "", admin, `{}`, 400, `invalid_request`},
		{"accept more", "POST", "/v1/config/accept", "", admin, `{"revision":"sha256:0","all":true}`, 400, `invalid_request`},
		{"accept another", "POST", "/v1/config/accept", "", admin, `{"revision":"sha256:0"}`, 409,
			`another revision is in use`},
		{"accept with nonsense", "POST", "/v1/config/accept", "", admin, `{"revision":"sha256:0","statement":{}}`, 400,
			`invalid_request`},
		{"clear much", "POST", "/v1/latches/clear", "", admin, `{"runtime":"` + strings.Repeat("x", 8<<10) +
			`","session":"s-9"}`, 413, `too_large`},
		{"events", "GET", "/v1/events?limit=3&newest=true", "/v1/events", review, "", 200, `"seq":`},
		{"events of a kind", "GET", "/v1/events?kind=protocol&type=failure", "/v1/events", review, "", 200,
			`"type":"failure"`},
		{"no events", "GET", "/v1/events?session=nobody", "/v1/events", review, "", 200, `{"events":[]}`},
		{"events: unknown parameter", "GET", "/v1/events?sesion=x", "/v1/events", review, "", 400, `invalid_request`},
		{"events: parameter twice", "GET", "/v1/events?session=x&session=y", "/v1/events", review, "", 400,
			`invalid_request`},
		{"events: no number", "GET", "/v1/events?after=x", "/v1/events", review, "", 400, `invalid_request`},
		{"events: negative", "GET", "/v1/events?after=-1", "/v1/events", review, "", 400, `invalid_request`},
		{"events: too many", "GET", "/v1/events?limit=10001", "/v1/events", review, "", 400, `invalid_request`},
		{"events: no phase", "GET", "/v1/events?phase=x", "/v1/events", review, "", 400, `invalid_request`},
		{"events: no time", "GET", "/v1/events?since=yesterday", "/v1/events", review, "", 400, `invalid_request`},
		{"events: no escape", "GET", "/v1/events?session=%zz", "/v1/events", review, "", 400, `invalid_request`},
		{"events: bad last id", "GET", "/v1/events?follow=true", "/v1/events",
			map[string]string{"Authorization": review["Authorization"], "Last-Event-ID": "x"}, "", 400, `invalid_request`},
		{"events: except what there is not", "GET", "/v1/events?except=hooks", "/v1/events", review, "", 400,
			`\"except\" must be one of`},
		{"events: a sign", "GET", "/v1/events?after=%2B1", "/v1/events", review, "", 400, `invalid_request`},
		{"events: empty parameter", "GET", "/v1/events?session=", "/v1/events", review, "", 400, `\"session\" is empty`},
		{"hooks: parameter", "GET", "/v1/hooks?limit=1", "/v1/hooks", review, "", 400, `\"limit\" is not known here`},
		{"status: parameter", "GET", "/v1/status?x=1", "/v1/status", review, "", 400, `invalid_request`},
		{"latches: parameter", "GET", "/v1/latches?session=s", "/v1/latches", review, "", 400, `invalid_request`},
		{"clear: parameter", "POST", "/v1/latches/clear?session=s", "/v1/latches/clear", admin,
			`{"runtime":"claude-code","session":"s"}`, 400, `\"session\" is not known here`},
		{"compact: parameter", "POST", "/v1/events/compact?dry_run=true", "/v1/events/compact", admin,
			`{"before":"2020-01-01T00:00:00Z"}`, 400, `\"dry_run\" is not known here`},
		{"reload: parameter", "POST", "/v1/reload?force=1", "/v1/reload", admin, "", 400, `invalid_request`},
		{"health: parameter", "GET", "/healthz?x=%zz", "/healthz", nil, "", 400, `the parameters cannot be read`},
		{"document: parameter", "GET", "/v1/openapi.json?v=3", "/v1/openapi.json", nil, "", 400, `invalid_request`},
		{"reload", "POST", "/v1/reload", "", admin, "", 200, `"revision":"sha256:`},
		{"no token", "GET", "/v1/status", "", nil, "", 403, `wrong_role`},
		{"a bad token", "GET", "/v1/status", "", bearer("x"), "", 401, `unauthenticated`},
		{"health", "GET", "/healthz", "", nil, "", 200, `"sinks":[{"kind":"store","durable":true,"ok":true}]}`},
		{"health, and how old it is", "GET", "/healthz", "", nil, "", 200, `{"ok":true,"state":"ok","age_ms":`},
		{"this document", "GET", "/v1/openapi.json", "", nil, "", 200, `"openapi": "3.1.0"`},
	} {
		resp, body := d.do(t, call{method: c.method, path: c.path, body: c.body, header: c.header})
		if resp.StatusCode != c.status || !strings.Contains(body, c.has) {
			t.Errorf("%s: status %d, want %d with %s: %.400s", c.name, resp.StatusCode, c.status, c.has, body)
		}
		doc := c.doc
		if doc == "" {
			doc = c.path
		}
		documented(t, c.method, doc, resp, body)
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/v1/invoke", 405}, {"DELETE", "/v1/events", 405}, {"GET", "/v1/reload", 405}, {"GET", "/", 404},
		{"GET", "/v2/invoke", 404}, {"POST", "/adapters/", 404}, {"GET", "/v1/hooks/x", 404}} {
		if resp, body := d.do(t, call{method: c.method, path: c.path, header: admin}); resp.StatusCode != c.status ||
			!strings.Contains(body, `"error"`) {
			t.Errorf("%s %s: status %d: %s", c.method, c.path, resp.StatusCode, body)
		}
	}
}
