package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/rules"
)

const head = "version: rules/v1\nrules:\n"

// one is a file of one rule, whose members stand from line 4 on.
func one(members string) string {
	return head + "  - name: a\n    " + strings.ReplaceAll(strings.TrimSpace(members), "\n", "\n    ") + "\n"
}

// A pattern that matches without a character is found in every text.
func TestPatternsMatchSomething(t *testing.T) {
	for pattern, refused := range map[string]bool{"x*": true, "^": true, "$": true, "^$": true, `\b`: true, `\B`: true,
		"(?m)^ *$": true, "a|b?": true, "(x*)+": true, "(?:)": true, "()": true, "x{0,3}": true, "(?i)(a|)": true, ".*": true,
		"x+": false, `\bx*y\b`: false, "a|b": false, "(?m)^ +$": false, "x{2,}": false, `[^\s\S]`: false, "x*y": false} {
		for where, members := range map[string]string{
			"/redact/match":    "when: {tool: exec}\nphase: post_tool\nredact:\n  match:\n    - needle\n    - '" + pattern + "'",
			"/when/text/match": "block: x\nphase: post_tool\nwhen:\n  text:\n    match: [needle, '" + pattern + "']",
		} {
			_, err := rules.Parse("rules.yaml", []byte(one(members)))
			want := fmt.Sprintf("/rules/0%s/1: %q is found in every text", where, pattern)
			if (err != nil) != refused || refused && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", where, err, want)
			}
		}
	}
	_, err := rules.Parse("rules.yaml", []byte(one("when: {tool: exec}\nredact: {match: 'x*'}")))
	if err == nil || !strings.HasPrefix(err.Error(), "rules.yaml:5:14: /rules/0/redact/match: ") {
		t.Error(err)
	}
}

// What cannot be is refused with line, column and pointer.
func TestFaultsHaveAPlace(t *testing.T) {
	many := strings.Repeat("x, ", 64) + "x"
	for _, c := range []struct{ why, src, want string }{
		{"no YAML", "version: [", "rules.yaml:2:1: not YAML"},
		{"an unknown member of the file", head + "  - {name: a, when: {}, block: x}\nsince: 3\n",
			"rules.yaml:4:1: /since: unknown member"},
		{"an unknown member of a rule", one("when: {}\nblok: x"), "rules.yaml:5:5: /rules/0/blok: unknown member"},
		{"an unknown condition", one("when: {programm: git}\nblock: x"),
			"rules.yaml:4:12: /rules/0/when/programm: unknown member"},
		{"a duplicate member", one("when: {}\nwhen: {}\nblock: x"), "rules.yaml:5:5: /rules/0/when: duplicate key"},
		{"a wrong type", one("when: {tool: 3}\nblock: x"), "rules.yaml:4:12: /rules/0/when/tool: wrong type"},
		{"another version", "version: 2\nrules: []\n", "rules.yaml:1:"},
		{"no rule", "version: rules/v1\nrules: []\n", "rules.yaml:2:1: /rules: has no rule"},
		{"a duplicate name", head + "  - {name: a, when: {}, block: x}\n  - {name: a, when: {}, block: x}\n",
			"rules.yaml:4:6: /rules/1/name: line 3 has a rule named a, too"},
		{"a name with blanks", head + "  - {name: a b, when: {}, block: x}\n", "rules.yaml:3:6: /rules/0/name: a name is"},
		{"no answer", one("when: {}"), "rules.yaml:3:5: /rules/0: has no answer"},
		{"two answers", one("when: {}\nblock: x\nask: y"),
			"rules.yaml:6:5: /rules/0/ask: a rule has one answer, and block is another"},
		{"no when", one("block: x"), "rules.yaml:3:5: /rules/0: when is missing"},
		{"no phase", one("phase: pre_tol\nwhen: {}\nblock: x"), `/rules/0/phase: "pre_tol" is not a phase`},
		{"audit", one("phase: audit\nwhen: {}\nblock: x"), "nothing is decided"},
		{"a phase twice", one("phase: [spawn, spawn]\nwhen: {}\nblock: x"), "spawn is listed twice"},
		{"a tool in a phase without tools", one("phase: spawn\nwhen: {tool: exec}\nblock: x"),
			"rules.yaml:5:12: /rules/0/when/tool: never matches in spawn"},
		{"a runtime's name of a tool", one("when: {tool: Bash}\nblock: x"),
			`"Bash" never matches: rules see that tool of claude-code as exec`},
		{"an unknown tool", one("when: {tool: frobnicate}\nblock: x"), `"frobnicate" is no tool that belay knows`},
		{"a command of a tool that runs none", one("when: {tool: read, command: git}\nblock: x"),
			"/rules/0/when/command: never matches: none of the tools runs commands (read)"},
		{"a server of a tool that has none", one("when: {tool: exec, mcp_server: x}\nblock: x"),
			"/rules/0/when/mcp_server: never matches"},
		{"an empty list", one("when: {tool: []}\nblock: x"), "/rules/0/when/tool: is empty and never matches"},
		{"an entry twice", one("when: {tool: [exec, exec]}\nblock: x"), `/rules/0/when/tool/1: "exec" is listed twice`},
		{"too many entries", one("when: {agent: [" + strings.ReplaceAll(many, "x", "y") + "]}\nblock: x"),
			"/rules/0/when/agent/64: at most 64 entries"},
		{"a program with a directory", one("when: {command: /bin/rm}\nblock: x"), "names a directory"},
		{"words behind flags", one("when: {command: git --force push}\nblock: x"), "a word stands behind a flag"},
		{"an argument that may be nothing", one("when: {command: 'git push -- main|'}\nblock: x"),
			`/rules/0/when/command: "git push -- main|" an alternative is empty`},
		{"every command", one("when: {command: '*'}\nblock: x"), "matches every command"},
		{"a path with ..", one("when: {path: ../x}\nblock: x"),
			"never matches: paths are compared without the elements . and .. in them"},
		{"a directory", one("when: {path: /etc/}\nblock: x"), "never matches: names of directories end without /"},
		{"a glob that is none", one("when: {path: '/a/[b'}\nblock: x"), "not a glob pattern"},
		{"a host with a scheme", one("when: {host: 'https://a.test'}\nblock: x"),
			"never matches: a host is a name in lower case"},
		{"more than there can be", one("when: {size: {at: /args, over: 1048576}}\nblock: x"),
			"/rules/0/when/size/over: never holds"},
		{"no pointer", one("when: {size: {at: args, over: 1}}\nblock: x"), "/rules/0/when/size/at: must be a JSON Pointer"},
		{"no RE2", one("when: {text: {match: '(a'}}\nblock: x"), `/rules/0/when/text/match: "(a": not a RE2 pattern`},
		{"a back reference", one(`when: {text: {match: '(a)\1'}}` + "\nblock: x"), "not a RE2 pattern"},
		{"a catastrophe", one("when: {text: {match: '((a{1,30}){1,30}){1,30}'}}\nblock: x"), "invalid repeat count"},
		{"another catastrophe", one(`when: {text: {match: '[a-z\pL]{1000}'}}` + "\nblock: x"), "cost"},
		{"no time", one("when: {time: {}}\nblock: x"), "/rules/0/when/time: says no time"},
		{"an empty window", one("when: {time: {from: '09:00', to: '09:00'}}\nblock: x"), "never holds: from is to"},
		{"no day", one("when: {time: {days: [monday]}}\nblock: x"), `"monday" is no day`},
		{"a zone by name", one("when: {time: {days: [mon], zone: Europe/Berlin}}\nblock: x"), `"Europe/Berlin" is no zone`},
		{"an exemption that exempts all", one("when: {tool: read}\nunless: {tool: [read, write]}\nblock: x"),
			"/rules/0/unless: exempts everything that when matches"},
		{"an exemption that says nothing", one("when: {}\nunless: {}\nblock: x"), "/rules/0/unless: says nothing"},
		{"an exemption by one of several things", one("when: {tool: exec}\nunless: {command: git}\nblock: x"),
			"/rules/0/unless/command: would exempt"},
		{"an exemption by what the agent writes", one("when: {}\nunless: {branch: topic}\nblock: x"),
			"/rules/0/unless/branch: the agent can write it"},
		{"an exemption by what any rule notes", one("when: {}\nunless: {annotation: {key: ok}}\nblock: x"),
			"only with tier: trusted"},
		{"a change by what the agent writes", one("when: {branch: topic}\nfix: {/args/x: 1}"),
			"/rules/0/when/branch: the agent can write it"},
		{"an ask where nothing can be asked", one("phase: post_tool\nwhen: {}\nask: x"),
			"/rules/0/ask: is not possible in post_tool"},
		{"a lease where none is checked", one("phase: pre_send\nwhen: {}\nrequire_lease: {capability: 'tool:exec'}"),
			"is not possible in pre_send"},
		{"scopes where there are none", one("phase: post_tool\nwhen: {}\nscopes: {net: []}"), "is not possible in post_tool"},
		{"no scopes", one("when: {}\nscopes: {}"), "narrows nothing"},
		{"an argument that cannot be set", one("when: {}\nfix: {/cwd: /}"), "/cwd cannot be rewritten in pre_tool"},
		{"the model", one("phase: pre_send\nwhen: {}\nfix: {/model: x}"), "/model cannot be rewritten in pre_send"},
		{"two that lie in each other", one("when: {}\nfix: {/args/a: {}, /args/a/b: 1}"), "lies in /args/a"},
		{"no count", one("when: {}\nlimit: {per: 1h}"), "/rules/0/limit: count is missing"},
		{"a count below zero", one("when: {}\nlimit: {count: -1, per: 1h}"), "count must be between 0 and 1000"},
		{"no period", one("when: {}\nlimit: {count: 1, per: hour}"), `per is a number and s, m, h or d`},
		{"limits that contradict", head + "  - {name: a, when: {tool: exec}, limit: {count: 3, per: 1h}}\n" +
			"  - {name: b, when: {tool: exec}, limit: {count: 5, per: 1h}}\n",
			"rules.yaml:4:35: /rules/1/limit: contradicts the limit of a in line 3"},
		{"a limit that is never reached", head + "  - {name: a, when: {tool: exec}, limit: {count: 3, per: 1d}}\n" +
			"  - {name: b, when: {tool: exec}, limit: {count: 5, per: 1h}}\n", "so that 5 in 1h is never reached"},
		{"arguments that contradict", head + "  - {name: a, when: {tool: exec}, fix: {/args/x: 1}}\n" +
			"  - {name: b, when: {tool: exec}, fix: {/args/x: 2}}\n", "contradicts the rule a in line 3"},
		{"an unknown name in a reason", one("when: {}\nblock: 'not {comand}'"),
			"rules.yaml:5:5: /rules/0/block: {comand} stands for nothing: a reason knows {command}"},
		{"a name without its condition", one("when: {tool: exec}\nask: 'not {command}'"),
			"rules.yaml:5:5: /rules/0/ask: {command} stands for nothing here: the rule has no condition command"},
		{"a path without its condition", one("when: {command: rm}\nlimit: {count: 1, per: 1h, reason: '{path}'}"),
			"rules.yaml:5:32: /rules/0/limit/reason: {path} stands for nothing here"},
		{"a host without its condition", one("when: {}\nrequire_lease: {capability: 'tool:exec', reason: '{host}'}"),
			"/rules/0/require_lease/reason: {host} stands for nothing here"},
		{"a tool where none is called",
			one("phase: [pre_tool, spawn]\nwhen: {}\nrequire_stage: {stage: s, reason: '{tool}'}"),
			"/rules/0/require_stage/reason: {tool} stands for nothing here: no tool is called in spawn"},
		{"a brace that does not end", one("when: {}\nblock: 'not {command'"), "/rules/0/block: a brace has no end"},
		{"many names", one("when: {}\nblock: '" + strings.Repeat("{agent}", 9) + "'"),
			"has 9 names in braces, and may have 8"},
		{"a member of config that is none", one("when: {config: {A: 1}}\nblock: x"), `"A" is no name of a member`},
		{"no member of config", one("when: {config: {}}\nblock: x"), "/rules/0/when/config: names no member"},
		{"a value that is none", one("when: {config: {a: {}}}\nblock: x"), "/rules/0/when/config/a: a value is a text"},
		{"no value", one("when: {config: {a: []}}\nblock: x"), "/rules/0/when/config/a: is empty and never matches"},
		{"a fraction", one("when: {config: {a: 1.5}}\nblock: x"), "/rules/0/when/config/a: a value is a text"},
		{"an exemption by the same config", one("when: {config: {a: 1}}\nunless: {config: {a: 1}}\nblock: x"),
			"/rules/0/unless/config: is what when asks for"},
		{"a text that is no UTF-8", "version: rules/v1\xff\n", "not valid UTF-8"},
	} {
		_, err := rules.Parse("rules.yaml", []byte(c.src))
		if !errors.Is(err, rules.ErrRules) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.why, err, c.want)
		}
	}
}

func numbered(n int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		fmt.Fprintf(&b, "  - {name: r%d, when: {command: tool%d run --flag%d}, block: no}\n", i, i, i)
	}
	return b.String()
}

func TestTooManyRules(t *testing.T) {
	if _, err := rules.Parse("rules.yaml", []byte(numbered(rules.MaxRules))); err != nil {
		t.Error(err)
	}
	_, err := rules.Parse("rules.yaml", []byte(numbered(rules.MaxRules+1)))
	if err == nil || !strings.Contains(err.Error(), "rules.yaml:10003:5: /rules/10000: at most 10000 rules") {
		t.Error(err)
	}
}

// The decoder takes any bytes: it answers with a file or with an error of its class.
func FuzzParse(f *testing.F) {
	f.Add([]byte(one("when: {command: git push --force|-f -- *main*}\nunless: {time: {days: [mon]}}\nblock: x")))
	f.Add([]byte(
		one("phase: [post_tool]\nwhen: {text: {match: '(?i)k[a-z]+', at: /result}}\nredact: {match: [a, b], with: ''}")))
	f.Add([]byte(one("when: {path: ['~/.ssh/**', '**/.env', 'src/**', '{a,b}']}\nlimit: {count: 3, per: 10m, by: user}")))
	f.Add([]byte(one("when: {}\nscopes: {net: []}")))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := rules.Parse("x", src)
		if err != nil {
			if !errors.Is(err, rules.ErrRules) {
				t.Fatal(err)
			}
			return
		}
		if len(file.Parts()) == 0 {
			t.Fatal("a file without rules")
		}
	})
}
