package layers_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/phases"
)

// floor is an organisation's file with something for every rule.
const floor = `version: belay/v1
hooks:
  - {name: command-guard, module: builtin:command-guard, capabilities: [block], priority: 100}
  - {name: late, module: builtin:secret-guard, capabilities: [block], priority: -10}
default: {spawn: ask}
unknown_tools: ask
known_tools: ["mcp:github:*"]
scopes: {fs_write: ["/repo/**", "/srv/**"]}
redact:
  keys: [token]
  patterns: [{name: acme, regex: "ak_[0-9a-z]{20}", keywords: [ak_]}]
`

// mine is a user's file that uses every rule that leaves something to the user.
const mine = `version: belay/v1
hooks:
  - name: user-strict
    module: builtin:command-guard
    capabilities: [block, request_approval, shell_parse]
    phases: [pre_tool]
    priority: 50
  - {name: user-later, module: builtin:command-guard, capabilities: [], phases: [pre_tool], mode: observe}
require:
  - {phases: [pre_tool], tools: "^exec$", hooks: [user-strict]}
require_lease:
  - {capability: "tool:exec"}
scopes: {fs_write: ["/repo/mine/**", "/tmp/**"], net: []}
default: {spawn: allow, pre_tool: ask}
unknown_tools: block
known_tools: ["mcp:github:read", "mcp:other:x"]
open_shells: block
redact:
  masks: [/args/pin]
  keys: [pin]
  patterns: [{name: house, regex: "hk_[0-9a-z]{20}", keywords: [hk_]}]
  profile: strict
latch_changed_calls: true
latch_reconcile: true
`

func sources(org, user string) layers.Sources {
	return layers.Sources{Organisation: []byte(org), Dir: "/etc/belay", User: []byte(user)}
}

// A user's file restricts, and the sidecar says which hook and key is whose.
func TestUserLayer(t *testing.T) {
	f, s := derive(t, sources(floor, mine))
	var order []string
	for _, b := range f.Hooks {
		order = append(order, b.Name)
	}
	if want := []string{"command-guard", "late", "user-strict", "user-later"}; !slices.Equal(order, want) {
		t.Errorf("%v", order)
	}
	if f.Hooks[2].Priority != -11 || f.Hooks[3].Priority != -61 {
		t.Errorf("the user's hooks run before the organisation's, or in another order: %d, %d", f.Hooks[2].Priority,
			f.Hooks[3].Priority)
	}
	if got := f.Scopes; !slices.Equal(got.FSWrite, phases.Scope{"/repo/mine/**"}) || got.Net == nil || len(got.Net) != 0 {
		t.Errorf("%+v", got)
	}
	if f.Default[phases.Spawn] != phases.Ask || f.Default[phases.PreTool] != phases.Ask ||
		f.UnknownTools != phases.Block ||
		!slices.Equal(f.KnownTools, phases.Scope{"mcp:github:read"}) {
		t.Errorf("%v, %v, %v", f.Default, f.UnknownTools, f.KnownTools)
	}
	if r := f.Redact; !slices.Equal(r.Keys, []string{"token"}) || len(r.Patterns) != 1 || len(r.Masks) != 0 ||
		!slices.Equal(r.Recorded.Keys, []string{"pin"}) || len(r.Recorded.Patterns) != 1 || len(r.Recorded.Masks) != 1 ||
		r.Profile != "strict" {
		t.Errorf("%+v", r)
	}
	if !f.LatchChangedCalls || !f.LatchReconcile || len(f.Require) != 1 || len(f.RequireLease) != 1 {
		t.Errorf("%+v", f)
	}
	e, err := layers.Effective(s.Before, s.Origin)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range e.Hooks {
		got[h.Name] = h.Layer
	}
	for _, k := range e.Keys {
		got[k.Key] = strings.Join(k.Layers, " ")
	}
	for key, want := range map[string]string{"command-guard": "organisation", "user-strict": "user",
		"scopes.fs_write": "organisation user", "scopes.net": "user", "default.spawn": "organisation",
		"default.pre_tool": "user", "redact.keys[0]": "organisation", "redact.recorded.keys[0]": "user",
		"redact.recorded.patterns[0]": "user", "redact.profile": "user", "require[0]": "user", "latch_reconcile": "user"} {
		if got[key] != want {
			t.Errorf("%s is of %q, want %q", key, got[key], want)
		}
	}

	// What hooks of the user's annotate is kept apart from those of the organisation, also where a file says otherwise.
	said := s
	said.Organisation = []byte(strings.ReplaceAll(floor, "capabilities: [block]", "capabilities: [annotate], apart: true"))
	said.User = []byte(strings.ReplaceAll(mine, "capabilities: [block,",
		"apart: false\n    capabilities: [annotate, block,"))
	f, _ = derive(t, said)
	for _, b := range f.Hooks {
		if own := strings.HasPrefix(b.Name, layers.UserPrefix); b.Apart != own {
			t.Errorf("%s: apart %v", b.Name, b.Apart)
		}
	}

	// Where the organisation's default asks or blocks, a hook of the user's leaves it to decide.
	s.User = []byte(strings.ReplaceAll(string(s.User), "phases: [pre_tool]", "phases: [pre_tool, spawn]"))
	if f, _ := derive(t, s); !slices.ContainsFunc(f.Hooks, func(b config.Binding) bool {
		return b.Name == "user-strict" &&
			b.KeepsDefault
	}) {
		t.Errorf("user-strict takes the place of the default in spawn: %+v", f.Hooks)
	}

	// Without the file everything is as the organisation has it: no hook of the user's is taken for an approved one.
	s.User = nil
	f, s = derive(t, s)
	alone, _ := derive(t, layers.Sources{Organisation: []byte(floor), Dir: "/etc/belay"})
	if len(f.Hooks) != len(alone.Hooks) || !slices.Equal(f.Scopes.FSWrite, alone.Scopes.FSWrite) {
		t.Errorf("the user's layer stays: %+v", f.Hooks)
	}
	if e, err := layers.Effective(s.Before, nil); err != nil || e.System || e.Hooks[0].Layer != "directory" {
		t.Errorf("outside of system mode: %+v, %v", e, err)
	}
}

// A crash while the files are replaced leaves no hook that is taken for an approved one, whichever of them was written.
func TestCrashBetweenTheFiles(t *testing.T) {
	_, s := derive(t, sources(floor, mine))
	next := s
	next.User = nil
	next.Organisation = []byte(strings.Replace(floor, "name: late", "name: later", 1))
	d, err := layers.Derive(next)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"the file before": s.Before, "the new file": d.File} {
		again := next
		again.Before, again.Origin = file, d.Between
		got, err := layers.Derive(again)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.File) != string(d.File) {
			t.Errorf("with %s it comes to\n%s", name, got.File)
		}
	}
}

// What is not for a user's file is refused with its line, and named.
func TestUserFilesThatDoMore(t *testing.T) {
	hook := func(more string) string {
		return "hooks:\n- name: user-x\n  module: builtin:command-guard\n  phases: [pre_tool]\n" + more
	}
	for _, c := range []struct{ name, src, says string }{
		{"a rewrite", hook("  capabilities: [block, 'rewrite:/args']"), "user.yaml:6: /hooks/0/capabilities/1: rewrite:/args is not for"},
		{"a grant", hook("  capabilities: [grant]"), "grant is not for"},
		{"a redaction", hook("  capabilities: [redact]"), "redact is not for"},
		{"a lease", hook("  capabilities: [request_lease]"), "request_lease is not for"},
		{"a tool", hook("  capabilities: [request_tool_call]"), "request_tool_call is not for"},
		{"a request", hook("  capabilities: [http_request]"), "http_request is not for"},
		{"a text for the agent", hook("  capabilities: [add_context]"), "add_context is not for"},
		{"http", hook("  capabilities: []\n  http: {hosts: ['a.example:443'], methods: [GET]}"), "user.yaml:7: /hooks/0/http: is the organisation's"},
		{"redacts", hook("  capabilities: []\n  redacts: false"), "/hooks/0/redacts"},
		{"a file of options", hook("  capabilities: []\n  config_file: x.yaml"), "/hooks/0/config_file"},
		{"another name", strings.Replace(hook("  capabilities: []"), "user-x", "x", 1), "begins with user-"},
		{"no phases", "hooks: [{name: user-x, module: builtin:command-guard, capabilities: []}]", "phases is missing"},
		{"rules", "hooks: [{name: user-x, module: 'rules:x.yaml', phases: [pre_tool]}]", "the daemon reads no file"},
		{"a file", "hooks: [{name: user-x, module: x.wasm, digest: 'sha256:" + strings.Repeat("a", 64) +
			"', phases: [pre_tool], capabilities: []}]", "the daemon reads no file"},
		{"a hook of the organisation's", "require: [{phases: [pre_tool], hooks: [command-guard]}]", "no hook is bound"},
		{"a pattern's name", "redact: {patterns: [{name: acme, regex: abc_1234567, keywords: [abc]}]}", "another pattern of that name"},
		{"a mask that removes", "redact: {masks: [{path: /args, how: remove}]}", "leaves a hash"},
		{"secrets", "redact: {secrets: ['env:X']}", "user.yaml:2: /redact/secrets: is the organisation's"},
		{"gitleaks", "redact: {gitleaks: x}", "/redact/gitleaks"},
		{"allow", "redact: {profile: strict, allow: [/args]}", "/redact/allow"},
		{"limits", "limits: {chain_ms: 60000}", "/limits"},
		{"events", "events: {retention: {days: 1}}", "/events"},
		{"mcp", "mcp: {servers: {x: {command: [/bin/sh], tools: ['*']}}}", "/mcp"},
		{"tools", "tools: {results: raw}", "/tools"},
		{"lease rules", "lease_rules: [{capability: 'tool:exec', decision: grant}]", "/lease_rules"},
		{"leases", "leases: {max_ttl: 30m}", "/leases"},
		{"approvals", "approvals: {unsigned: true}", "/approvals"},
		{"reviewers", "reviewers: [{name: me, key: 'ed25519:O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik='}]", "/reviewers"},
		{"a single user", "single_user: {auto_accept: true}", "/single_user"},
		{"recordings", "recordings: {dir: /x, unsafe_plaintext: true}", "/recordings"},
		{"nonsense", "nonsense: 1", "user.yaml:2: "},
		{"too much", "# " + strings.Repeat("x", layers.MaxUser), "larger than"},
	} {
		d, err := layers.Derive(sources(floor, "version: belay/v1\n"+c.src))
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if d != nil || !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), c.says) ||
			!strings.HasPrefix(err.Error(), layers.UserName) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
	}
	org := strings.Replace(floor, "priority: -10", "priority: -1000", 1)
	if _, err := layers.Derive(sources(org, mine)); err == nil ||
		!strings.Contains(err.Error(), "none can run behind it") {
		t.Errorf("behind a hook of the least priority: %v", err)
	}
	many := "version: belay/v1\nhooks:\n" + strings.Repeat("- {name: user-N, module: builtin:command-guard, phases: [pre_tool], capabilities: []}\n", 17)
	for _, letter := range "abcdefghijklmnopq" {
		many = strings.Replace(many, "user-N", "user-"+string(letter), 1)
	}
	if _, err := layers.Derive(sources(floor, many)); err == nil || !strings.Contains(err.Error(), "at most 16") {
		t.Errorf("17 hooks: %v", err)
	}
}

// A name that a reviewer approved for the user is taken.
func TestUserHookWithAnApprovedName(t *testing.T) {
	_, s := derive(t, layers.Sources{Organisation: []byte(floor), Dir: "/etc/belay"})
	s.Before = []byte(strings.Replace(string(s.Before), `"hooks": [`,
		`"hooks": [{"name": "user-strict", "module": "sha256:`+strings.Repeat("a", 64)+`", "capabilities": []},`, 1))
	s.User = []byte(mine)
	if _, err := layers.Derive(s); err == nil || !strings.Contains(err.Error(), `"user-strict" is bound already`) {
		t.Errorf("%v", err)
	}
}
