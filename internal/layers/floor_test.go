package layers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/phases"
)

// drawn is a file of a layer, mostly of what both layers may say.
func drawn(t *rapid.T, who string) map[string]any {
	f := map[string]any{"version": "belay/v1"}
	some := func(key string, v any) {
		if rapid.Bool().Draw(t, who+" "+key) {
			f[key] = v
		}
	}
	answer := func(what string) any {
		return rapid.SampledFrom([]string{"allow", "ask", "block"}).Draw(t, who+" "+what)
	}
	sub := func(what string, all ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(s string) bool {
			return rapid.Bool().Draw(t,
				who+" "+what+" without "+s)
		})
	}
	prefix := ""
	if who == "user" {
		prefix = "user-"
	}
	var hooks []any
	for i := range rapid.IntRange(0, 3).Draw(t, who+" hooks") {
		hooks = append(hooks, map[string]any{"name": fmt.Sprintf("%sh%d", prefix, i), "module": "builtin:command-guard",
			"capabilities": []string{"block"}, "priority": rapid.IntRange(-1000, 99).Draw(t, who+" priority"),
			"phases": []string{rapid.SampledFrom([]string{"pre_tool", "post_tool", "spawn"}).Draw(t, who+" phase")}})
	}
	if hooks != nil {
		f["hooks"] = hooks
		some("require", []any{map[string]any{"phases": []string{"pre_tool"}, "hooks": []string{prefix + "h0"}}})
	}
	scopes := map[string]any{}
	for _, kind := range []string{"fs_read", "fs_write"} {
		if rapid.Bool().Draw(t, who+kind) {
			scopes[kind] = sub(kind, "/a/**", "/a/b", "/c/**", "/a/b/d")
		}
	}
	scopes["tools"] = sub("tools", "exec", "read", "mcp:x:*")
	some("scopes", scopes)
	some("default", map[string]any{"pre_tool": answer("pre_tool"), "spawn": answer("spawn")})
	some("unknown_tools", answer("unknown_tools"))
	some("known_tools", sub("known_tools", "mcp:x:*", "mcp:x:y", "mcp:z:*"))
	some("open_shells", answer("open_shells"))
	some("latch_changed_calls", rapid.Bool().Draw(t, who+" latch"))
	some("require_lease", []any{map[string]any{"capability": "tool:exec"}})
	redact := map[string]any{"keys": sub("keys", "token", "pin"), "masks": sub("masks", "/args/x", "/args/y")}
	if rapid.Bool().Draw(t, who+" strict") {
		redact["profile"] = "strict"
	}
	some("redact", redact)
	return f
}

func encoded(t *rapid.T, f map[string]any) []byte {
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// strict orders answers as a person would.
func strict(d phases.Decision) int {
	return map[phases.Decision]int{"": 0, phases.Allow: 0, phases.Ask: 1, phases.Block: 2}[d]
}

// Whatever two files say, the configuration of both stops everything that the organisation's stops alone: no scope is
// wider, no hook is gone or runs behind one of the user's, no default is milder or loses its actions to a hook of the
// user's, nothing is redacted less.
func TestNothingBelowTheFloor(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		org, user := encoded(t, drawn(t, "organisation")), encoded(t, drawn(t, "user"))
		alone, err := layers.Derive(layers.Sources{Organisation: org, Dir: "/etc/belay"})
		if err != nil {
			t.Fatal(err)
		}
		both, err := layers.Derive(layers.Sources{Organisation: org, Dir: "/etc/belay", User: user})
		if err != nil {
			return // refused: the organisation's stays
		}
		taken++
		a, err := config.Parse(alone.File)
		if err != nil {
			t.Fatal(err)
		}
		m, err := config.Parse(both.File)
		if err != nil {
			t.Fatal(err)
		}
		if !a.Scopes.Contains(m.Scopes.Normalize()) {
			t.Errorf("wider: %+v, then %+v", a.Scopes, m.Scopes)
		}
		lowest := 1001
		for i, b := range a.Hooks {
			lowest = min(lowest, b.Priority)
			if got := m.Hooks[i]; got.Name != b.Name || got.Module != b.Module || got.Priority != b.Priority ||
				got.Mode != b.Mode || got.Apart || got.Disabled != b.Disabled || !slices.Equal(got.Phases, b.Phases) ||
				!slices.Equal(got.Capabilities, b.Capabilities) {
				t.Errorf("%+v is now %+v", b, got)
			}
		}
		for _, b := range m.Hooks[len(a.Hooks):] {
			if b.Priority >= lowest {
				t.Errorf("%s runs before a hook of the organisation's", b.Name)
			}
			if !b.Apart {
				t.Errorf("hooks of the organisation see what %s annotates", b.Name)
			}
			for _, p := range b.Phases {
				if strict(a.Default[p]) > 0 && !b.KeepsDefault {
					t.Errorf("%s takes the place of the default in %s", b.Name, p)
				}
			}
		}
		for _, p := range phases.Phases() {
			if strict(m.Default[p]) < strict(a.Default[p]) {
				t.Errorf("the default of %s is milder: %q, then %q", p, a.Default[p], m.Default[p])
			}
		}
		if strict(m.UnknownTools) < strict(a.UnknownTools) {
			t.Errorf("unknown_tools: %q, then %q", a.UnknownTools, m.UnknownTools)
		}
		for _, tool := range []string{"mcp:x:y", "mcp:x:w", "mcp:z:q", "mcp:u:v"} {
			fine := func(f *config.File) bool { // without asking
				return strict(f.UnknownTools) == 0 || f.KnownTools != nil && f.KnownTools.AllowsTool(tool)
			}
			if fine(m) && !fine(a) {
				t.Errorf("%s is fine now: %q %v, then %q %v", tool, a.UnknownTools, a.KnownTools, m.UnknownTools, m.KnownTools)
			}
		}
		shells := func(f *config.File) int { // blocked without a word
			if f.OpenShells == "" {
				return 2
			}
			return strict(f.OpenShells)
		}
		if shells(m) < shells(a) || a.LatchChangedCalls && !m.LatchChangedCalls || m.Approvals != a.Approvals ||
			len(m.Require) < len(a.Require) || len(m.RequireLease) < len(a.RequireLease) {
			t.Errorf("%s, then %s", alone.File, both.File)
		}
		for _, k := range a.Redact.Keys {
			if !slices.Contains(m.Redact.Keys, k) {
				t.Errorf("the key %s is not redacted", k)
			}
		}
		for _, k := range a.Redact.Masks {
			if !slices.Contains(m.Redact.Masks, k) {
				t.Errorf("%s is not masked", k.Path)
			}
		}
		if len(
			m.Redact.Masks,
		)+len(
			m.Redact.Keys,
		)+len(
			m.Redact.Patterns,
		) != len(
			a.Redact.Masks,
		)+len(
			a.Redact.Keys,
		)+len(
			a.Redact.Patterns,
		) {
			t.Errorf("hooks of the organisation read again what the user's rules redact: %+v, then %+v", a.Redact, m.Redact)
		}
		if a.Redact.Profile == "strict" && m.Redact.Profile != "strict" {
			t.Error("not strict any more")
		}
	})
	if taken < 20 {
		t.Errorf("only %d files were taken: the others prove nothing", taken)
	}
}
