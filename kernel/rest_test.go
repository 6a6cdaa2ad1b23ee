package kernel_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// onExec binds a hook to commands.
func onExec(b *kernel.BindingSpec) { b.Match = &tiers.Match{Tools: "^exec$"} }

// callOf is an invocation of pre_tool.
func callOf(runtime, tool, args string) phases.Invocation {
	inv := invocation(phases.PreTool)
	inv.Runtime, inv.Action = runtime, jsontext.Value(`{"tool":"`+tool+`","args":`+args+`}`)
	return inv
}

// A hook on commands is asked about every call that carries one, and about no other.
func TestHooksSeeTheCallsThatCarryCommands(t *testing.T) {
	h := newHost(t, []hook{{name: "exec", spec: onExec}, {name: "write", spec: func(b *kernel.BindingSpec) {
		b.Match = &tiers.Match{Tools: "^write$"}
	}}})
	for _, c := range []struct{ runtime, tool, args, asked string }{
		{"claude-code", "Bash", `{"command":"ls"}`, "exec"},
		{"claude-code", "Monitor", `{"command":"ls"}`, "exec"},
		{"claude-code", "mcp__workspace__bash", `{"command":"ls"}`, "exec"},
		{"custom", "Bash", `{"command":"ls"}`, "exec"},
		{"custom", "Bash", `{"line":"ls"}`, ""},
		{"custom", "search", `{"query":"ls"}`, ""},
		{"custom", "save", `{"file_name":"x","cmd":"ls"}`, "exec write"},
	} {
		v := h.invoke(t, callOf(c.runtime, c.tool, c.args))
		var asked []string
		for _, r := range v.Hooks {
			asked = append(asked, r.Hook)
		}
		if slices.Sort(asked); strings.Join(asked, " ") != c.asked || v.Decision != phases.Allow {
			t.Errorf("%s %s(%s): %s, asked %q, want %q", c.runtime, c.tool, c.args, v.Decision, asked, c.asked)
		}
		said := slices.ContainsFunc(v.Notes, func(n string) bool { return strings.HasPrefix(n, "judged as ") })
		if tool, _ := phases.GetString(v.Action, "/tool"); said != (c.asked != "" && tool != "exec") {
			t.Errorf("%s %s(%s): notes %q", c.runtime, c.tool, c.args, v.Notes)
		}
	}
}

// A mutator that puts a command into a call has the hooks on commands judge it.
func TestAMutatorsCommandIsJudged(t *testing.T) {
	block := hook{name: "exec", spec: onExec, caps: []string{"block"}, imports: []string{"block"},
		run: func(kernel.Turn) (kernel.Outcome, error) {
			return kernel.Outcome{Effects: []phases.Effect{{Kind: phases.EffectBlock, Text: "no commands"}}}, nil
		}}
	mutate := hook{name: "m", mutates: []phases.Phase{phases.PreTool}, caps: []string{"rewrite:/args"},
		imports: []string{"rewrite"}, run: func(kernel.Turn) (kernel.Outcome, error) {
			return kernel.Outcome{Effects: []phases.Effect{{Kind: phases.EffectRewrite, Path: "/args/command",
				Value: jsontext.Value(`"ls"`)}}}, nil
		}}
	h := newHost(t, []hook{mutate, block})
	if v := h.invoke(t, callOf("custom", "run_it", `{"x":1}`)); v.Decision != phases.Block || v.DecidedBy != "exec" {
		t.Errorf("%s by %s: %s", v.Decision, v.DecidedBy, v.Reason)
	}
}

// A hook that sees a call only for what it carries spares the agent no prompt of its own.
func TestAGrantNeedsTheToolsName(t *testing.T) {
	grant := hook{name: "g", tier: phases.Trusted, spec: onExec, caps: []string{"grant"}, imports: []string{"grant"},
		run: func(kernel.Turn) (kernel.Outcome, error) {
			return kernel.Outcome{Effects: []phases.Effect{{Kind: phases.EffectGrant, Text: "harmless"}}}, nil
		}}
	h := newHost(t, []hook{grant})
	for tool, granted := range map[string]bool{"Bash": true, "mcp__workspace__bash": false, "run_it": false} {
		v := h.invoke(t, callOf("claude-code", tool, `{"command":"ls"}`))
		if v.Decision != phases.Allow || (v.Grant != nil) != granted {
			t.Errorf("%s: %s %+v, %s", tool, v.Decision, v.Grant, v.Reason)
		}
	}
}

// unknown_tools decides calls of tools that no table names, and default what no hook judges.
func TestTheRest(t *testing.T) {
	guard := hook{name: "guard", spec: onExec, imports: []string{"block"}, caps: []string{"block"}}
	// sees everything and can say nothing
	look := hook{name: "look"}
	// says nothing, and leaves the default
	keeps := hook{name: "keeps", imports: []string{"block"}, caps: []string{"block"},
		spec: func(b *kernel.BindingSpec) { b.KeepsDefault = true }}
	for _, c := range []struct {
		name    string
		cfg     kernel.Config
		runtime string
		tool    string
		args    string
		want    phases.Decision
	}{
		{"nothing said", kernel.Config{}, "custom", "run_it", `{}`, phases.Allow},
		{"allow", kernel.Config{UnknownTools: phases.Allow}, "custom", "run_it", `{}`, phases.Allow},
		{"ask", kernel.Config{UnknownTools: phases.Ask}, "custom", "run_it", `{}`, phases.Ask},
		{"block", kernel.Config{UnknownTools: phases.Block}, "custom", "run_it", `{}`, phases.Block},
		{"judged all the same", kernel.Config{UnknownTools: phases.Block}, "custom", "run_it", `{"path":"a","command":"ls"}`,
			phases.Block},
		{"of a server", kernel.Config{UnknownTools: phases.Block}, "claude-code", "mcp__a__b", `{}`, phases.Block},
		{"a server that is known", kernel.Config{UnknownTools: phases.Block, KnownTools: phases.Scope{"mcp:a:*"}},
			"claude-code", "mcp__a__b", `{}`, phases.Allow},
		{"another server", kernel.Config{UnknownTools: phases.Block, KnownTools: phases.Scope{"mcp:a:*"}}, "claude-code",
			"mcp__b__b", `{}`, phases.Block},
		{"of the table", kernel.Config{UnknownTools: phases.Block}, "claude-code", "Workflow", `{}`, phases.Allow},
		{"of another's table", kernel.Config{UnknownTools: phases.Block}, "codex", "Workflow", `{}`, phases.Block},
		{"normalised", kernel.Config{UnknownTools: phases.Block}, "custom", "todo", `{}`, phases.Allow},

		{"default block, no judge", kernel.Config{Default: map[phases.Phase]phases.Decision{phases.PreTool: phases.Block}},
			"claude-code", "Read", `{"file_path":"a"}`, phases.Block},
		{"default ask, no judge", kernel.Config{Default: map[phases.Phase]phases.Decision{phases.PreTool: phases.Ask}},
			"claude-code", "Read", `{"file_path":"a"}`, phases.Ask},
		{"default block, judged", kernel.Config{Default: map[phases.Phase]phases.Decision{phases.PreTool: phases.Block}},
			"claude-code", "Bash", `{"command":"ls"}`, phases.Allow},
		{"default of another phase", kernel.Config{Default: map[phases.Phase]phases.Decision{phases.Spawn: phases.Block}},
			"claude-code", "Read", `{"file_path":"a"}`, phases.Allow},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, []hook{guard, look, keeps}, func(cfg *kernel.Config, _ *kernel.Options) {
				cfg.Default, cfg.UnknownTools, cfg.KnownTools = c.cfg.Default, c.cfg.UnknownTools, c.cfg.KnownTools
			})
			v := h.invoke(t, callOf(c.runtime, c.tool, c.args))
			if v.Decision != c.want || c.want != phases.Allow && (v.DecidedBy != "belay" || v.Kind != phases.KindPolicy) {
				t.Errorf("%s by %s (%s): %s; want %s", v.Decision, v.DecidedBy, v.Kind, v.Reason, c.want)
			}
			if c.want == phases.Ask {
				if v.Approval == nil {
					t.Fatal("nothing waits in the queue")
				}
				item, err := h.Approval(t.Context(), v.Approval.ID)
				if err != nil || item.Reason != v.Reason {
					t.Errorf("the item says %q, %v", item.Reason, err)
				}
			}
		})
	}
}

// A configuration that cannot be carried out is refused.
func TestTheRestIsChecked(t *testing.T) {
	for name, change := range map[string]func(*kernel.Config){
		"no phase": func(c *kernel.Config) { c.Default = map[phases.Phase]phases.Decision{"x": phases.Block} },
		"audit":    func(c *kernel.Config) { c.Default = map[phases.Phase]phases.Decision{phases.Audit: phases.Block} },
		"nothing to ask": func(c *kernel.Config) {
			c.Default = map[phases.Phase]phases.Decision{phases.PostTool: phases.Ask}
		},
		"no decision": func(c *kernel.Config) { c.UnknownTools = "maybe" },
		"no pattern":  func(c *kernel.Config) { c.KnownTools = phases.Scope{"a*b"} },
		"no answer":   func(c *kernel.Config) { c.OpenShells = "maybe" },
	} {
		if _, err := tryHost(t, nil, func(c *kernel.Config, _ *kernel.Options) { change(c) }); !errors.Is(err,
			kernel.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A command that reads further commands from its terminal is decided where the runtime shows no hook
// what is typed there, by open_shells, and blocked without it. Elsewhere it is a command like others.
func TestShellsThatStayOpen(t *testing.T) {
	for name, c := range map[string]struct {
		setting       phases.Decision
		unseen        bool
		tool, command string
		want          phases.Decision
	}{
		"blocked":        {"", true, "Bash", "bash", phases.Block},
		"asked":          {phases.Ask, true, "Bash", "cd x && python3 -i", phases.Ask},
		"allowed":        {phases.Allow, true, "Bash", "bash", phases.Allow},
		"seen":           {"", false, "Bash", "bash", phases.Allow},
		"ends by itself": {"", true, "Bash", "bash -c ls", phases.Allow},
		"cannot be told": {"", true, "Bash", "echo 'x", phases.Block},
		"no command":     {"", true, "apply_patch", "bash", phases.Allow},
	} {
		h := newHost(t, nil, func(cfg *kernel.Config, _ *kernel.Options) { cfg.OpenShells = c.setting })
		v := h.invoke(t, callOf("codex", c.tool, `{"command":"`+c.command+`"}`), kernel.InvokeOptions{UnseenInput: c.unseen})
		if v.Decision != c.want || c.want == phases.Block && !strings.Contains(v.Reason, "open_shells in belay.yaml") {
			t.Errorf("%s: %s: %s", name, v.Decision, v.Reason)
		}
	}
}

// A command is found wherever hooks find it: under another name, as words, or beside another one.
func TestShellsThatStayOpenWhereverTheCommandStands(t *testing.T) {
	for args, want := range map[string]phases.Decision{
		`{"cmd":"bash"}`:                         phases.Block,
		`{"cmd":["bash","-i"]}`:                  phases.Block,
		`{"command":["python3"]}`:                phases.Block,
		`{"command":["bash","-c","ls"]}`:         phases.Allow,
		`{"command":"ls","script":"cd x; bash"}`: phases.Block,
		`{"command":"","cmd":"bash"}`:            phases.Block,
		`{"command":7,"cmd":"bash"}`:             phases.Block,
		`{"commands":["ls","sqlite3"]}`:          phases.Block,
		`{"commands":["ls","id"]}`:               phases.Allow,
		`{"shell":"/bin/bash","command":"ls"}`:   phases.Allow,
		`{"text":"bash"}`:                        phases.Allow,
	} {
		h := newHost(t, nil)
		v := h.invoke(t, callOf("codex", "Bash", args), kernel.InvokeOptions{UnseenInput: true})
		if v.Decision != want {
			t.Errorf("%s: %s: %s", args, v.Decision, v.Reason)
		}
	}
}

// What a hook of the queue asks is not for the runtime to put to the person, and what others ask is.
func TestQueuedQuestionsAreNotDelegated(t *testing.T) {
	ask := func(name string, queued bool) hook {
		return hook{name: name, caps: []string{"request_approval"}, imports: []string{"request_approval"},
			spec: func(b *kernel.BindingSpec) { b.Queued = queued },
			run: func(kernel.Turn) (kernel.Outcome, error) {
				return kernel.Outcome{Effects: []phases.Effect{{Kind: phases.EffectAsk, Text: "may it?"}}}, nil
			}}
	}
	for name, c := range map[string]struct {
		hooks []hook
		want  phases.Enforced
	}{
		"neither": {[]hook{ask("a", false)}, phases.EnforcedDelegated},
		"queued":  {[]hook{ask("a", true)}, phases.EnforcedDirect},
		"one":     {[]hook{ask("a", false), ask("b", true)}, phases.EnforcedDirect},
	} {
		h := newHost(t, c.hooks)
		v := h.invoke(t, invocation(phases.PreTool), kernel.InvokeOptions{Delegated: true})
		if v.Decision != phases.Ask || v.Enforced != c.want || (v.Approval != nil) != (c.want == phases.EnforcedDirect) {
			t.Errorf("%s: %s %s, approval %+v", name, v.Decision, v.Enforced, v.Approval)
		}
	}
}
