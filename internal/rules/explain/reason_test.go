package explain_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/belay-hooks/belay/phases"
)

// A reason names what fulfils the rule's conditions, short and with each character seen.
func TestReasonsNameWhatTheyAreAbout(t *testing.T) {
	w := open(t)
	long := strings.Repeat("é", 300)
	for _, c := range []struct {
		rule string
		inv  phases.Invocation
		want string
	}{
		{`{name: a, when: {command: git push}, block: "{program}: {command}"}`, command("cd x && sudo git -C y push -f"),
			"git: git -C y push -f (rule a)"},
		{`{name: a, when: {command: git push}, ask: "may it {command}"}`, command("ls; git push origin 'a b'"),
			"may it git push origin a b (rule a)"},
		{`{name: a, when: {path: .env}, block: "not {path}"}`, tool("read", `{"file_path":"src/../.ENV"}`),
			"not /repo/.ENV (rule a)"},
		{`{name: a, when: {host: "*.b.test"}, block: "not {host}"}`, command("curl https://a.test https://X.b.test/y"),
			"not x.b.test (rule a)"},
		{`{name: a, when: {host_not: a.test}, block: "not {host}"}`, command("curl https://a.test https://b.test/y"),
			"not b.test (rule a)"},
		{`{name: a, when: {}, block: "{agent} may not {tool}; {{x}}"}`, tool("read", `{}`),
			"main may not read; {x}} (rule a)"},
		{`{name: a, when: {command: git push}, limit: {count: 0, per: 1h, reason: "no {command}"}}`, command("git push"),
			"no git push; the next time is in 3600 seconds (rule a)"},
		{`{name: a, when: {command: git push}, require_stage: {stage: s, reason: "no {command}"}}`, command("git push"),
			"no git push (rule a)"},
		{`{name: a, when: {command: git push}, require_lease: {capability: "tool:exec", reason: "no {command}"}}`,
			command("git push"), "no git push (rule a)"},
		{`{name: a, when: {command: rm}, block: "{command}"}`, command("rm \u202ex \u200b\u0007"),
			`rm \u{202e}x \u{200b}\u{7} (rule a)`},
		{`{name: a, when: {command: rm}, block: "{command}"}`, command("rm '{command}' '{tool}'"),
			`rm {command} {tool} (rule a)`},
		{`{name: a, when: {command: rm}, block: "{command}"}`, command("rm " + long),
			"rm " + strings.Repeat("é", 98) + "... (rule a)"},
		// Each rule speaks of its own.
		{`{name: a, when: {command: git push}, ask: "{command}"}` + "\n  - " + `{name: b, when: {command: rm}, ask: "{command}"}`,
			command("rm x; git push"), "git push (rule a); rm x (rule b)"},
	} {
		v := w.ask(t, w.compile(t, "version: rules/v1\nrules:\n  - "+c.rule+"\n"), c.inv)
		if !strings.HasSuffix(v.Reason, c.want) || !utf8.ValidString(v.Reason) {
			t.Errorf("%s:\n got %q\nwant %q", c.rule, v.Reason, c.want)
		}
	}
}

// What the operator configured says which rules hold; what is not known to any rule is refused.
func TestConfigSaysWhichRulesHold(t *testing.T) {
	w := open(t)
	module := w.compile(t, `version: rules/v1
rules:
  - {name: a, when: {config: {strict: true, level: [2, 3]}, tool: read}, block: no}
  - {name: b, when: {tool: write}, unless: {config: {writes: allow}}, block: no}
`)
	read, write := tool("read", `{}`), tool("write", `{}`)
	for _, c := range []struct {
		config      string
		read, write phases.Decision
	}{
		{"", phases.Allow, phases.Block},
		{`{}`, phases.Allow, phases.Block},
		{`{"strict":true}`, phases.Allow, phases.Block},
		{`{"strict":true,"level":3}`, phases.Block, phases.Block},
		{`{"writes":"allow"}`, phases.Allow, phases.Allow},
	} {
		for inv, want := range map[*phases.Invocation]phases.Decision{&read: c.read, &write: c.write} {
			if v := w.askWith(t, module, *inv, c.config); v.Decision != want {
				t.Errorf("%s: %s %s, want %s", c.config, v.Decision, v.Reason, want)
			}
		}
	}
	for _, config := range []string{`{"strict":false}`, `{"level":1}`, `{"other":true}`, `{"writes":true}`} {
		if err := w.loads(module, config); err == nil {
			t.Errorf("%s is taken", config)
		}
	}
}
