package claudecode

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
)

// above returns patterns of the directory and of all above it.
func above(dir string) (out []string) {
	for dir = path.Clean(dir); path.IsAbs(dir); dir = path.Dir(dir) {
		out = append(out, literal(strings.TrimSuffix(dir, "/")))
		if dir == "/" {
			break
		}
	}
	return out
}

// below returns patterns of the folders below the directory whose skills Claude Code takes once it has
// read a file there. Deeper ones are not looked for: a skill of theirs is not found, and refused.
func below(dir string) []string {
	at := strings.TrimSuffix(literal(path.Clean(dir)), "/")
	if !path.IsAbs(at + "/") {
		return nil
	}
	return []string{at + "/*", at + "/*/*"}
}

// organisations returns the directories of managed settings.
func organisations() []string {
	return []string{"/etc/claude-code", "/Library/Application Support/ClaudeCode"}
}

// skillFiles returns the patterns of all skills: the model calls one by the name in its head, which may be
// another one than that of its folder.
func (p *received) skillFiles() (out []string) {
	cwd, transcript := p.OptStr("cwd"), p.OptStr("transcript_path")
	p.Unread("transcript_path")
	for _, dir := range slices.Concat(above(cwd), below(cwd), organisations()) {
		out = append(out, dir+"/.claude/skills/*/SKILL.md")
	}
	if config, _, ok := strings.Cut(transcript, "/projects/"); ok && path.IsAbs(config) {
		out = append(out, literal(config)+"/skills/*/SKILL.md")
	}
	return out
}

var (
	headOf = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\x{FEFF}?---[ \t]*\r?\n(?s:(.*?))(?:\n---[ \t]*(?:\r?\n|$)|$)`)
	})
	nameInHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[{,])[ \t]*["']?name["']?[ \t]*:[ \t]*["']?([^"'\r\n,}]*)`)
	})
	hooksInHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[{,])[ \t]*["']?hooks["']?[ \t]*:`)
	})
	shellInHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[{,])[ \t]*["']?shell["']?[ \t]*:[ \t]*["']?([A-Za-z]*)`)
	})
	// A key that is written with escapes, or by reference, may be any.
	oddHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?m)(?:^|[{,])[ \t]*(?:"[^"\n]*\\[^"\n]*"[ \t]*:|\?[ \t]|<<[ \t]*:|[*&!][^ \t\n]+[ \t]*:)`)
	})
)

// head returns the lines between the marks at the beginning of a command's or skill's file.
func head(text []byte) []byte {
	m := headOf().FindSubmatch(text)
	if m == nil {
		return nil
	}
	return m[1]
}

// mayBeNamed reports whether the head gives the skill that name.
func mayBeNamed(text []byte, name string) bool {
	h := head(text)
	for _, m := range nameInHead().FindAllSubmatch(h, -1) {
		value := strings.TrimSpace(string(m[1]))
		if value == name || value == "" || strings.ContainsAny(value, `\>|*&!`) { // the latter may be any
			return true
		}
	}
	return oddHead().Match(h)
}

// bringsHooks reports whether the head may hold hooks, which run commands of their own.
func bringsHooks(text []byte) bool {
	return hooksInHead().Match(head(text)) || oddHead().Match(head(text))
}

// shellsOf returns the tools as which the embedded commands are judged. Where the head names another
// shell, the client takes that one or, where there is none, the usual one.
func shellsOf(text []byte) []string {
	if m := shellInHead().FindSubmatch(head(text)); m != nil && string(m[1]) != "bash" {
		return []string{"Bash", "PowerShell"}
	}
	return []string{"Bash"}
}

// clientPolicy is what the managed settings say about embedded commands. No other settings count: a
// repository can overrule those of a person.
type clientPolicy struct {
	noSkillShell     bool // no command runs that stands in a command's or skill's file
	managedHooksOnly bool // nor does a hook that such a file brings
}

func readPolicy(o adapters.Options) (out clientPolicy) {
	for _, dir := range organisations() {
		texts, err := o.Files([]string{dir + "/managed-settings.json", dir + "/managed-settings.d/*.json"})
		if err != nil {
			return clientPolicy{}
		}
		for _, text := range texts {
			var s struct {
				Shell *bool          `json:"disableSkillShellExecution"`
				Hooks *bool          `json:"allowManagedHooksOnly"`
				Rest  jsontext.Value `json:",inline"`
			}
			if json.Unmarshal(text, &s) != nil || s.Shell != nil && !*s.Shell || s.Hooks != nil && !*s.Hooks {
				return clientPolicy{}
			}
			out.noSkillShell = out.noSkillShell || s.Shell != nil
			out.managedHooksOnly = out.managedHooksOnly || s.Hooks != nil
		}
	}
	return out
}

// withClient reports names of skills that come with the client of 2.1.329 and 2.1.330 and hold no
// command, as it lists them in an empty project, and of the prompts of MCP servers.
func withClient(name string) bool {
	switch name {
	case "deep-research", "dataviz", "update-config", "verify", "debug", "code-review", "simplify", "batch",
		"fewer-permission-prompts", "doctor", "loop", "claude-api", "workflow-authoring", "run", "run-skill-generator",
		"plugin-authoring", "auto-mode-setup", "init", "__remote-workflow", "workflow-launch-exec", "security-review",
		"insights", "review", "recap", "goal", "list-agents", "team-onboarding":
		return true
	}
	return strings.HasPrefix(name, "mcp__")
}

// preloaded returns the commands of the skills that a subagent's own file has it begin with: no event tells
// of them. A type of which no file is found is one of the client's own, or of the command line.
func (p *received) preloaded(o adapters.Options, args []payload.Field) (out []action) {
	if o.Files == nil || p.Err() != nil {
		return nil
	}
	kind := ""
	for _, f := range args {
		if f.Name == "subagent_type" {
			kind, _ = payload.StringOf(f.Value)
		}
	}
	texts, err := o.Files(p.agentFiles(kind))
	if err != nil {
		p.Fail("tool_input", "the files of subagents cannot be read, so that what this one runs is not known")
		return nil
	}
	policy := readPolicy(o)
	short := kind[strings.LastIndexByte(kind, ':')+1:]
	for _, text := range texts {
		if !mayBeNamed(text, kind) && !mayBeNamed(text, short) {
			continue
		}
		if !policy.managedHooksOnly && bringsHooks(text) {
			p.Fail("tool_input", "the file of this subagent brings hooks of its own, of which no hook is told")
			return nil
		}
		for _, name := range skillsInHead(text) {
			out = append(out, p.embedded(o, "tool_input", name, "", !withClient(name))...)
			if len(out) > maxEmbedded {
				p.Fail("tool_input", "this subagent begins with more commands than can be judged")
				return nil
			}
		}
	}
	return out
}

// agentFiles returns the patterns of the files of subagents.
func (p *received) agentFiles(kind string) (out []string) {
	cwd, transcript := p.OptStr("cwd"), p.OptStr("transcript_path")
	p.Unread("transcript_path")
	in := func(dir string) { out = append(out, dir+"/agents/*.md", dir+"/agents/*/*.md", dir+"/agents/*/*/*.md") }
	for _, dir := range slices.Concat(above(cwd), organisations()) {
		in(dir + "/.claude")
	}
	config, _, ok := strings.Cut(transcript, "/projects/")
	if !ok || !path.IsAbs(config) {
		return out
	}
	config = literal(config)
	in(config)
	if plugin, _, ok := strings.Cut(kind, ":"); ok && commandName().MatchString(plugin) {
		for _, at := range []string{"/plugins/*/" + plugin, "/plugins/*/*/" + plugin, "/plugins/*/*/" + plugin + "/*"} {
			in(config + at)
		}
	}
	return out
}

var (
	skillsKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)(?:^|[{,])[ \t]*["']?skills["']?[ \t]*:[ \t]*((?s:.*))`)
	})
	otherKey  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[A-Za-z_][A-Za-z0-9_-]*[ \t]*:`) })
	skillWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9_][A-Za-z0-9_.:-]*`) })
)

// skillsInHead returns the names of the skills that the head of a subagent's file lists.
func skillsInHead(text []byte) (out []string) {
	m := skillsKey().FindSubmatch(head(text))
	if m == nil {
		return nil
	}
	list := m[1]
	if next := otherKey().FindIndex(list); next != nil {
		list = list[:next[0]]
	}
	for _, word := range skillWord().FindAll(list, -1) {
		out = append(out, string(word))
	}
	return out
}
