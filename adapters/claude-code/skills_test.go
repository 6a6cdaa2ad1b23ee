package claudecode_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
)

// judgedCommands decodes a call and returns the commands that it is asked about, or "refused".
func judgedCommands(t *testing.T, tool, input string, files tree) (string, error) {
	t.Helper()
	payload := []byte(`{"session_id":"s","transcript_path":"/home/dev/.claude/projects/-w/s.jsonl","cwd":"/w",` +
		`"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"` + tool + `","tool_input":` + input +
		`,"tool_use_id":"toolu_1"}`)
	ev, err := claudecode.New().Decode(payload, adapters.Options{Files: files.files})
	if err != nil {
		return "refused", err
	}
	var out []string
	for _, c := range commands(ev) {
		if strings.HasPrefix(c, "pre_tool ") {
			out = append(out, strings.TrimPrefix(c, "pre_tool "))
		}
	}
	return strings.Join(out, "|"), nil
}

const managed = "/etc/claude-code/managed-settings.json"

// The client finds a skill in more places than a folder of its name, and a file that belay does not find
// may run commands: the call is refused unless the name is of a skill that comes with the client.
func TestSkillsThatStandElsewhere(t *testing.T) {
	head := func(lines string) string { return "---\n" + lines + "\n---\nSee !`ls`\n" }
	for name, c := range map[string]struct {
		skill string
		files tree
		want  string
	}{
		"by the name in its head": {"sk", tree{"/w/.claude/skills/x/SKILL.md": head("name: sk")}, "exec ls"},
		"in quotes":               {"sk", tree{"/w/.claude/skills/x/SKILL.md": head(`name: "sk"`)}, "exec ls"},
		"in escapes":              {"sk", tree{"/w/.claude/skills/x/SKILL.md": head(`name: "s\u006b"`)}, "exec ls"},
		"in a block":              {"sk", tree{"/w/.claude/skills/x/SKILL.md": head("name: >\n  sk")}, "exec ls"},
		"in one line": {"sk", tree{"/w/.claude/skills/x/SKILL.md": head(`{description: d, name: sk}`)},
			"exec ls"},
		"another name":      {"simplify", tree{"/w/.claude/skills/x/SKILL.md": head("name: other")}, ""},
		"in the user's":     {"sk", tree{"/home/dev/.claude/skills/x/SKILL.md": head("name: sk")}, "exec ls"},
		"below the project": {"sk", tree{"/w/pkg/.claude/skills/sk/SKILL.md": head("x: y")}, "exec ls"},
		"below it, by head": {"sk", tree{"/w/a/b/.claude/skills/x/SKILL.md": head("name: sk")}, "exec ls"},
		"two of one name": {"sk",
			tree{"/w/.claude/skills/sk/SKILL.md": "fine", "/w/a/.claude/skills/x/SKILL.md": head("name: sk")}, "exec ls"},
		"once, by both names":      {"sk", tree{"/w/.claude/skills/sk/SKILL.md": head("name: sk")}, "exec ls"},
		"nowhere":                  {"sk", nil, "refused"},
		"too deep":                 {"sk", tree{"/w/a/b/c/.claude/skills/sk/SKILL.md": head("name: sk")}, "refused"},
		"comes with the client":    {"simplify", nil, ""},
		"in place of the client's": {"simplify", tree{"/w/.claude/skills/simplify/SKILL.md": "!`ls`"}, "exec ls"},
		"below, in place of it":    {"simplify", tree{"/w/pkg/.claude/skills/simplify/SKILL.md": "!`ls`"}, "exec ls"},
		"a server's prompt":        {"mcp__notes__say", nil, ""},
		"hooks of its own": {"sk",
			tree{"/w/.claude/skills/sk/SKILL.md": "---\nhooks:\n  PreToolUse: []\n---\nfine"}, "refused"},
		"hooks in escapes": {"sk", tree{"/w/.claude/skills/sk/SKILL.md": "---\n\"h\\u006foks\": {}\n---\nfine"},
			"refused"},
		"hooks by a merge": {"sk", tree{"/w/.claude/skills/sk/SKILL.md": "---\n<<: *a\n---\nfine"}, "refused"},
		"words about hooks": {"sk",
			tree{"/w/.claude/skills/sk/SKILL.md": "---\ndescription: git hooks: all\n---\nhooks: none"}, ""},
		"a list in a description": {"sk",
			tree{"/w/.claude/skills/sk/SKILL.md": "---\ndescription: |\n  * one\n  - two\n---\nfine"}, ""},
		"another shell": {"sk", tree{"/w/.claude/skills/sk/SKILL.md": head("shell: powershell")},
			"exec ls|exec ls"},
		"its own shell": {"sk", tree{"/w/.claude/skills/sk/SKILL.md": head("shell: bash")}, "exec ls"},
		"switched off by the machine": {"sk",
			tree{managed: `{"disableSkillShellExecution":true,"allowManagedHooksOnly":true}`}, ""},
		"switched off, hooks are not": {"sk", tree{managed: `{"disableSkillShellExecution":true}`,
			"/w/.claude/skills/sk/SKILL.md": "---\nhooks: {}\n---\n!`ls`"}, "refused"},
		"switched off, not found": {"sk", tree{managed: `{"disableSkillShellExecution":true}`}, ""},
		"hooks are, commands are not": {"sk", tree{managed: `{"allowManagedHooksOnly":true}`,
			"/w/.claude/skills/sk/SKILL.md": "---\nhooks: {}\n---\n!`ls`"}, "exec ls"},
		"switched on again": {"sk", tree{managed: `{"disableSkillShellExecution":true}`,
			"/etc/claude-code/managed-settings.d/1.json": `{"disableSkillShellExecution":false}`}, "refused"},
		"switched off by a person": {"sk", tree{"/home/dev/.claude/settings.json": `{"disableSkillShellExecution":true}`},
			"refused"},
		"settings that are no JSON": {"sk", tree{managed: `{"disableSkillShellExecution":true`}, "refused"},
	} {
		if got, err := judgedCommands(t, "Skill", `{"skill":"`+c.skill+`"}`, c.files); got != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, err)
		}
	}
}

// A subagent may begin with skills that its own file names, and Claude Code tells of none of their commands.
func TestSkillsThatSubagentsBeginWith(t *testing.T) {
	const sk = "/w/.claude/skills/sk/SKILL.md"
	for name, c := range map[string]struct {
		kind  string
		files tree
		want  string
	}{
		"none": {"help", tree{"/w/.claude/agents/help.md": "---\nname: help\n---\nyou help"}, ""},
		"a list": {"help",
			tree{"/w/.claude/agents/x.md": "---\nname: help\nskills:\n  - sk\n  - simplify\nmodel: m\n---\n", sk: "!`ls`"},
			"exec ls"},
		"in a row": {"help", tree{"/w/.claude/agents/a/x.md": "---\nskills: [sk]\nname: help\n---\n", sk: "!`ls`"},
			"exec ls"},
		"with words": {"help", tree{"/home/dev/.claude/agents/x.md": "---\nname: help\nskills: sk\n---\n", sk: "!`ls`"},
			"exec ls"},
		"of another": {"other", tree{"/w/.claude/agents/x.md": "---\nname: help\nskills: sk\n---\n", sk: "!`ls`"}, ""},
		"a plugin's": {"p:help",
			tree{"/home/dev/.claude/plugins/cache/m/p/agents/help.md": "---\nname: help\nskills: sk\n---\n",
				sk: "!`ls`"}, "exec ls"},
		"not found":        {"help", tree{"/w/.claude/agents/x.md": "---\nname: help\nskills: sk\n---\n"}, "refused"},
		"not readable":     {"help", tree{"/w/.claude/agents/x.md": "unreadable"}, "refused"},
		"hooks of its own": {"help", tree{"/w/.claude/agents/x.md": "---\nname: help\nhooks: {}\n---\n"}, "refused"},
		"the client's own": {"general-purpose", nil, ""},
		"switched off": {"help",
			tree{managed: `{"disableSkillShellExecution":true,"allowManagedHooksOnly":true}`,
				"/w/.claude/agents/x.md": "---\nname: help\nskills: sk\n---\n", sk: "!`ls`"}, ""},
		"nothing is named": {"", tree{"/w/.claude/agents/x.md": "---\nname: help\nskills: sk\n---\n", sk: "!`ls`"}, ""},
	} {
		got, err := judgedCommands(t, "Agent", `{"description":"d","prompt":"p","subagent_type":"`+c.kind+`"}`, c.files)
		if got != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, err)
		}
	}
}
