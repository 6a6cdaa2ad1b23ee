package phases

import (
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxJudged is the most places of one kind that a call is judged by. A call with more of them is
// marked, and hooks that judge by them cannot tell.
const maxJudged = 64

// maxJudgedBytes bounds the places of a call together, so that a hook's document is little longer than the call.
const maxJudgedBytes = 32 << 10

// judged says what a call is judged as beside its tool's own name, and by which of its arguments.
type judged struct {
	as       []string // normalised names
	commands []string // JSON Pointers to commands of a shell: strings, or arrays of words
	code     []string // JSON Pointers to text that may be of another language
	paths    []string // JSON Pointers to names of files
	foreign  bool     // the tool is known to run another language: code is never a command of a shell
	runs     bool     // something was found that is a command or code, whether or not its place is listed
	files    bool     // the same of names of files
	more     bool     // a list is cut
	found    struct{ commands, code, paths fewest }
}

// ToolNames returns the names by which hooks are chosen for a tool call: first that of Tool, then,
// where the tool's name does not say what a call of it does, the names that the arguments speak for.
// A tool that takes a command is judged as exec, and one that names a file as read, write and edit.
// In other phases than pre_tool and post_tool there are none.
func (inv *Invocation) ToolNames() []string {
	tool := inv.Tool()
	if tool == "" {
		return nil
	}
	return append([]string{tool}, inv.judge(tool).as...)
}

// judge reads the arguments of a call as far as the tool's name leaves open what it does.
func (inv *Invocation) judge(tool string) judged {
	var j judged
	args, ok := Get(inv.Action, "/args")
	if !ok || kindOf(args) != '{' {
		return j
	}
	switch tool {
	case "read", "write", "edit", "apply_patch", "grep", "glob", "list", "lsp", "web_fetch", "web_search",
		"memory_search", "memory_get", "memory_save", "todo", "plan", "ask_user", "skill", "tool_search", "sessions_spawn",
		"sessions_list", "sessions_history", "sessions_send", "session_status", "agents_list", "image", "tts":
		return j // the name says it
	case "exec":
		j.foreign = inv.takesCode()
		j.findCommands(args)
		j.choose()
		if !j.more && len(j.code) == 0 && len(j.commands) == 1 && j.commands[0] == firstPlace(inv.Action) {
			return judged{} // where a command is looked for anyway
		}
		return j
	}
	if inv.ownScript() {
		return j
	}
	j.findCommands(args)
	if tool == "process" {
		j.findInput(args)
	} else {
		j.findPaths(args)
	}
	j.choose()
	if j.runs {
		j.as = append(j.as, "exec")
	}
	if j.files {
		j.as = append(j.as, "read", "write", "edit")
	}
	return j
}

// native returns the runtime's own name of the tool.
func (inv *Invocation) native() string {
	if name, ok := GetString(inv.Action, "/native_tool"); ok {
		return name
	}
	name, _ := GetString(inv.Action, "/tool")
	return name
}

// takesCode reports tools that run text of another language than that of a POSIX shell.
func (inv *Invocation) takesCode() bool {
	switch inv.Runtime {
	case "claude-code":
		name := foldTool(inv.native())
		return name == "powershell" || name == "repl" || name == "eval"
	case "codex":
		name := foldTool(inv.native())
		return name == "jsrepl" || name == "codemode"
	}
	return false
}

// ownScript reports tools whose member "script" is a plan of child agents, each of whose own calls
// comes to belay.
func (inv *Invocation) ownScript() bool {
	return inv.Runtime == "claude-code" && foldTool(inv.native()) == "workflow"
}

// findCommands notes the arguments that a tool runs.
func (j *judged) findCommands(args jsontext.Value) {
	eachMember(args, (*Place)(nil).Member("args"), true, func(name string, at *Place, value jsontext.Value, lone bool) {
		switch runOf(name) {
		case runArgv:
			if j.foreign {
				j.noteLeaves(&j.found.code, at, value)
			} else {
				j.noteArgv(&j.found.commands, at, value)
			}
		case runLines:
			j.noteLeaves(&j.found.commands, at, value)
		case runScript:
			j.noteLeaves(&j.found.code, at, value)
		case runCode:
			if lone {
				j.noteLeaves(&j.found.code, at, value)
			}
		case runShell:
			if s, ok := GetString(value, ""); lone && ok && !programPath().MatchString(s) {
				j.note(&j.found.commands, at, true)
			}
		}
	})
}

// run is how a tool runs an argument.
type run uint8

const (
	runNothing run = iota // it does not run it
	runArgv               // as a command, or as words of one
	runLines              // as commands
	runScript             // as text of some language
	runCode               // the same, where no list is round it
	runShell              // by it, or as a command
)

// runOf takes the folded name of an argument.
func runOf(name string) run {
	switch name {
	case "command", "cmd", "commandline", "cmdline", "shellcommand", "bashcommand", "bash":
		return runArgv
	case "commands", "cmds":
		return runLines
	case "script", "scripts":
		return runScript
	case "code":
		return runCode
	case "shell":
		return runShell
	}
	return runNothing
}

// programPath matches what a member "shell" holds that names the shell to use.
var programPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[\w./\\:+-]*\z`) })

// findInput notes what a tool writes to a command that is already running.
func (j *judged) findInput(args jsontext.Value) {
	eachMember(args, (*Place)(nil).Member("args"), true, func(name string, at *Place, v jsontext.Value, _ bool) {
		switch name {
		case "chars", "data", "input", "keys", "text", "stdin":
			j.noteLeaves(&j.found.code, at, v)
		}
	})
}

// findPaths notes the arguments that name files, by the names that scopes go by.
func (j *judged) findPaths(args jsontext.Value) {
	eachMember(args, (*Place)(nil).Member("args"), true, func(name string, at *Place, v jsontext.Value, _ bool) {
		if !isPathArgument(name) {
			return
		}
		leaves(at, v, func(at *Place, v jsontext.Value) {
			if text, _ := unquote(v); namesFile(text) {
				j.note(&j.found.paths, at, false)
			}
		})
	})
}

// namesFile reports whether a text can be the name of a file: one line, and no longer than a path may be. Blanks
// round it and steps that lead nowhere do not make it longer: a tool may take them away before it opens the file.
func namesFile(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" || strings.Contains(s, "\n") || webAddress().MatchString(s) {
		return false
	}
	return len(s) <= maxCWDBytes || len(path.Clean(s)) <= maxCWDBytes
}

var webAddress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\Ahttps?://`) })

// note notes a place. One that no hook could look at marks the call.
func (j *judged) note(list *fewest, at *Place, last bool) {
	if list == &j.found.paths {
		j.files = true
	} else {
		j.runs = true
	}
	if at.Size() > maxPathBytes {
		j.more = true
		return
	}
	list.add(at, last)
}

// choose lists the places found that there is room for.
func (j *judged) choose() {
	room := maxJudgedBytes
	for _, list := range []struct {
		pointers *[]string
		found    *fewest
	}{{&j.commands, &j.found.commands}, {&j.code, &j.found.code}, {&j.paths, &j.found.paths}} {
		var more bool
		*list.pointers, room, more = list.found.pointers(room)
		j.more = j.more || more
	}
}

// noteLeaves notes a string that is not empty, or such strings of an array.
func (j *judged) noteLeaves(list *fewest, at *Place, v jsontext.Value) {
	leaves(at, v, func(at *Place, _ jsontext.Value) { j.note(list, at, false) })
}

// noteArgv notes a command that is a string or an array of words. An array of one word may as well
// hold a line.
func (j *judged) noteArgv(list *fewest, at *Place, v jsontext.Value) {
	if kindOf(v) == '[' {
		words := 0
		leaves(at, v, func(*Place, jsontext.Value) { words++ })
		if words > 1 && words == len(elements(v)) {
			j.note(list, at, false)
			return
		}
	}
	j.noteLeaves(list, at, v)
}

// leaves calls f for a string that is not blank, or for such strings of an array.
func leaves(at *Place, v jsontext.Value, f func(at *Place, v jsontext.Value)) {
	switch kindOf(v) {
	case '"':
		if v = trim(v); !blank(v) {
			f(at, v)
		}
	case '[':
		for i, e := range elements(v) {
			leaves(at.Element(i), e, f)
		}
	}
}

// blank reports a string of which nothing is seen.
func blank(quoted jsontext.Value) bool {
	if c := quoted[1]; c > ' ' && c < utf8.RuneSelf && c != '\\' && c != '"' {
		return false // which is so of nearly all
	}
	s, _ := unquote(quoted)
	return strings.TrimSpace(s) == ""
}

// eachMember calls f for the members of an object at any depth, with folded name and place. lone
// says that no list is round the member.
func eachMember(v jsontext.Value, at *Place, lone bool, f func(name string, at *Place, v jsontext.Value, lone bool)) {
	switch kindOf(v) {
	case '[':
		for i, e := range elements(v) {
			eachMember(e, at.Element(i), false, f)
		}
	case '{':
		walk(v, skipSpace(v, 0), func(m member) bool {
			name, _ := unquote(v[m.name.start:m.name.end])
			value, here := v[m.value.start:m.value.end], at.Member(name)
			f(foldTool(name), here, value, lone)
			eachMember(value, here, lone, f)
			return true
		})
	}
}

// document returns the member "judged" of the input document, or nil where there is nothing to say.
func (j *judged) document() []byte {
	if !j.runs && !j.files {
		return nil
	}
	var doc documentWriter
	for _, list := range []struct {
		name  string
		texts []string
	}{{"as", j.as}, {"commands", j.commands}, {"code", j.code}, {"paths", j.paths}} {
		if len(list.texts) > 0 {
			doc.raw(list.name, appendQuotes(nil, list.texts))
		}
	}
	if j.foreign {
		doc.raw("foreign", []byte("true"))
	}
	if j.more {
		doc.raw("more", []byte("true"))
	}
	return doc.bytes()
}
