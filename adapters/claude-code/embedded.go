package claudecode

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// A slash command or skill is a file, and Claude Code runs the shell commands that stand in it, as
// !`command` or in a block that begins with ```!, before it gives the text to the model. It tells of
// none of them: no PreToolUse comes. The event that precedes them names the command alone, so its file
// is read here, and each command in it is asked about as a call of the shell.

// maxEmbedded is how many commands one file may run.
const maxEmbedded = 32

var (
	fencedCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("```!\\s*\\n?([\\s\\S]*?)\\n?```") })
	inlineCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?m)(?:^|\\s)!`([^`]+)`") })
	commandName   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)*$`)
	})
	argumentsList = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^arguments?\s*:`) })
	argumentIndex = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(\d{1,3})`) })
)

// expansion returns the commands that a slash command runs before the model reads it.
func (p *received) expansion(o adapters.Options) []action {
	source := p.OptStr("command_source")
	p.Unread("command_source")
	switch source {
	case "builtin", "bundled", "mcp": // the client's own text, and a server's, in which no command runs
		return nil
	}
	return p.embedded(o, "command_name", p.OptStr("command_name"), p.OptStr("command_args"), true)
}

// skill returns the commands that the tool Skill runs.
func (p *received) skill(o adapters.Options, args []payload.Field) []action {
	var name, text string
	for _, f := range args {
		switch f.Name {
		case "skill", "command":
			name, _ = payload.StringOf(f.Value)
		case "args":
			text, _ = payload.StringOf(f.Value)
		}
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), "/")
	return p.embedded(o, "tool_input", name, text, !withClient(name))
}

// embedded returns a call of the shell for each command in the files of that name. must says that
// there has to be one.
func (p *received) embedded(o adapters.Options, member, name, args string, must bool) []action {
	if o.Files == nil || p.Err() != nil {
		return nil
	}
	policy := readPolicy(o)
	if policy.noSkillShell && policy.managedHooksOnly {
		return nil // Claude Code runs nothing of any such file
	}
	if !commandName().MatchString(name) {
		p.Fail(member, "the file of this command cannot be told by its name")
		return nil
	}
	texts, err := o.Files(p.commandFiles(name))
	if err == nil && p.Event() == "PreToolUse" {
		var named [][]byte
		named, err = o.Files(p.skillFiles())
		for _, text := range named {
			same := func(b []byte) bool { return bytes.Equal(b, text) }
			if mayBeNamed(text, name) && !slices.ContainsFunc(texts, same) {
				texts = append(texts, text)
			}
		}
	}
	switch {
	case err != nil:
		p.Fail(member, "the file of this command cannot be read, so that what it runs is not known")
	case len(texts) == 0 && must && !policy.noSkillShell:
		p.Fail(member, "the file of this command was not found, so that what it runs is not known")
	}
	var out []action
	for _, text := range texts {
		if !policy.managedHooksOnly && bringsHooks(text) {
			p.Fail(member, "the file of this command brings hooks of its own, of which no hook is told")
			return nil
		}
		if policy.noSkillShell {
			continue
		}
		for _, command := range commandsIn(string(text)) {
			command, ok := withArguments(string(text), command, args)
			if !ok || len(out) >= maxEmbedded {
				p.Fail(member, "what this command runs with these arguments cannot be told")
				return nil
			}
			for _, tool := range shellsOf(text) {
				o := toolAction(tool, "", new(payload.Object).Str("command", command).Value())
				out = append(out, action{phase: phases.PreTool, raw: o.Value(), embedded: true})
			}
		}
	}
	return out
}

// commandFiles returns the patterns of the files that a command of this name may be. All that exist
// are judged, since the client does not say which one it has taken.
func (p *received) commandFiles(name string) []string {
	cwd, transcript := p.OptStr("cwd"), p.OptStr("transcript_path")
	p.Unread("transcript_path")
	var out []string
	in := func(dir string) {
		out = append(out, dir+"/commands/"+strings.ReplaceAll(name, ":", "/")+".md",
			dir+"/skills/"+strings.ReplaceAll(name, ":", "/")+"/SKILL.md")
		if short := name[strings.LastIndexByte(name, ':')+1:]; short != name { // a folder need not be in the name
			out = append(out, dir+"/skills/"+short+"/SKILL.md")
		}
	}
	for _, dir := range above(cwd) {
		in(dir + "/.claude")
	}
	if p.Event() == "PreToolUse" { // the person's own commands are never those of a folder below
		for _, dir := range below(cwd) {
			out = append(out, dir+"/.claude/skills/"+name[strings.LastIndexByte(name, ':')+1:]+"/SKILL.md")
		}
	}
	for _, dir := range organisations() {
		in(dir + "/.claude")
	}
	config, _, ok := strings.Cut(transcript, "/projects/")
	if !ok || !path.IsAbs(config) {
		return out
	}
	config = literal(config)
	in(config)
	if plugin, rest, ok := strings.Cut(name, ":"); ok {
		file := strings.ReplaceAll(rest, ":", "/")
		for _, at := range []string{"/plugins/*/" + plugin, "/plugins/*/*/" + plugin, "/plugins/*/*/" + plugin + "/*"} {
			out = append(out, config+at+"/commands/"+file+".md", config+at+"/skills/"+file+"/SKILL.md")
		}
	}
	return out
}

// literal returns a pattern that matches the path alone: a folder's name may hold marks of patterns, and
// a file that is not found would not be judged.
func literal(at string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(at)
}

// commandsIn returns the commands that stand in the text. It finds more rather than less than the
// client does, which passes over those inside of other code.
func commandsIn(text string) (out []string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, re := range []*regexp.Regexp{fencedCommand(), inlineCommand()} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			if command := strings.TrimSpace(m[1]); command != "" {
				out = append(out, command)
			}
		}
	}
	return out
}

// withArguments puts the arguments where the client does before it runs the command. ok is false
// where that cannot be told.
func withArguments(text, command, args string) (out string, ok bool) {
	if strings.Contains(args, "`") {
		return "", false // they may pair with a mark of the text, and become a command
	}
	if args == "" {
		return strings.ReplaceAll(command, "$ARGUMENTS", ""), true
	}
	if strings.Contains(command, "$ARGUMENTS[") || strings.Contains(command, "$") && argumentsList().MatchString(text) {
		return "", false
	}
	indexed := argumentIndex().MatchString(command)
	if indexed && strings.ContainsAny(args, `"'\`) {
		return "", false
	}
	words := strings.Fields(args)
	command = argumentIndex().ReplaceAllStringFunc(command, func(m string) string {
		if n, err := strconv.Atoi(m[1:]); err == nil && n < len(words) {
			return words[n]
		}
		return ""
	})
	return strings.ReplaceAll(command, "$ARGUMENTS", args), true
}
