package phases

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	more     bool     // a list is cut
	bytes    int      // of all places
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
		if len(j.code) == 0 && len(j.commands) == 1 && (j.commands[0] == "/args/command" || j.commands[0] == "/args/cmd") {
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
	if len(j.commands)+len(j.code) > 0 {
		j.as = append(j.as, "exec")
	}
	if len(j.paths) > 0 {
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
	switch name := foldTool(inv.native()); inv.Runtime {
	case "claude-code":
		return name == "powershell" || name == "repl" || name == "eval"
	case "codex":
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
	var shells []string
	eachMember(args, "/args", true, func(name, ptr string, value jsontext.Value, lone bool) {
		switch name {
		case "command", "cmd", "commandline", "cmdline", "shellcommand", "bashcommand", "bash":
			if j.foreign {
				j.note(&j.code, leaves(ptr, value))
			} else {
				j.note(&j.commands, argv(ptr, value))
			}
		case "commands", "cmds":
			j.note(&j.commands, leaves(ptr, value))
		case "script", "scripts":
			j.note(&j.code, leaves(ptr, value))
		case "code":
			if lone {
				j.note(&j.code, leaves(ptr, value))
			}
		case "shell":
			if s, ok := GetString(value, ""); lone && ok && !programPath.MatchString(s) {
				shells = append(shells, ptr)
			}
		}
	})
	j.note(&j.commands, shells)
}

// programPath matches what a member "shell" holds that names the shell to use.
var programPath = regexp.MustCompile(`\A[\w./\\:+-]*\z`)

// findInput notes what a tool writes to a command that is already running.
func (j *judged) findInput(args jsontext.Value) {
	eachMember(args, "/args", true, func(name, ptr string, v jsontext.Value, lone bool) {
		switch name {
		case "chars", "data", "input", "keys", "text", "stdin":
			j.note(&j.code, leaves(ptr, v))
		}
	})
}

// findPaths notes the arguments that name files, by the names that scopes go by.
func (j *judged) findPaths(args jsontext.Value) {
	eachMember(args, "/args", true, func(name, ptr string, v jsontext.Value, lone bool) {
		if !isPathArgument(name) {
			return
		}
		for _, at := range leaves(ptr, v) {
			s, _ := GetString(args, strings.TrimPrefix(at, "/args"))
			if namesFile(s) {
				j.note(&j.paths, []string{at})
			}
		}
	})
}

// namesFile reports whether a text can be the name of a file: one line, and no longer than a path may be. Blanks
// round it and steps that lead nowhere do not make it longer: a tool may take them away before it opens the file.
func namesFile(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" || strings.Contains(s, "\n") || webAddress.MatchString(s) {
		return false
	}
	return len(s) <= maxCWDBytes || len(path.Clean(s)) <= maxCWDBytes
}

var webAddress = regexp.MustCompile(`(?i)\Ahttps?://`)

// note adds places to a list. One that no hook could look at, or for which there is no room, marks the call.
func (j *judged) note(list *[]string, ptrs []string) {
	for _, ptr := range ptrs {
		if len(*list) == maxJudged || len(ptr) > maxPathBytes || j.bytes+len(ptr) > maxJudgedBytes {
			j.more = true
			return
		}
		j.bytes += len(ptr)
		*list = append(*list, ptr)
	}
}

// argv returns the pointer to a command that is a string or an array of words. An array of one word
// may as well hold a line.
func argv(ptr string, v jsontext.Value) []string {
	if kindOf(v) == '[' {
		words := leaves(ptr, v)
		if len(words) > 1 && len(words) == len(elements(v)) {
			return []string{ptr}
		}
		return words
	}
	return leaves(ptr, v)
}

// leaves returns the pointers to a string that is not empty, or to such strings of an array.
func leaves(ptr string, v jsontext.Value) []string {
	switch kindOf(v) {
	case '"':
		if s, _ := GetString(v, ""); strings.TrimSpace(s) != "" {
			return []string{ptr}
		}
	case '[':
		var out []string
		for i, e := range elements(v) {
			out = append(out, leaves(ptr+"/"+strconv.Itoa(i), e)...)
		}
		return out
	}
	return nil
}

// eachMember calls f for the members of an object at any depth, with folded name and pointer. lone
// says that no list is round the member.
func eachMember(v jsontext.Value, ptr string, lone bool, f func(name, ptr string, v jsontext.Value, lone bool)) {
	switch kindOf(v) {
	case '[':
		for i, e := range elements(v) {
			eachMember(e, ptr+"/"+strconv.Itoa(i), false, f)
		}
	case '{':
		walk(v, skipSpace(v, 0), func(m member) bool {
			name, _ := unquote(v[m.name.start:m.name.end])
			value, at := v[m.value.start:m.value.end], Join(ptr, name)
			f(foldTool(name), at, value, lone)
			eachMember(value, at, lone, f)
			return true
		})
	}
}

// document returns the member "judged" of the input document, or nil where there is nothing to say.
func (j *judged) document() []byte {
	if len(j.as) == 0 && len(j.commands)+len(j.code)+len(j.paths) == 0 {
		return nil
	}
	var doc documentWriter
	for _, list := range []struct {
		name  string
		texts []string
	}{{"as", j.as}, {"commands", j.commands}, {"code", j.code}, {"paths", j.paths}} {
		if len(list.texts) > 0 {
			doc.raw(list.name, quoteAll(list.texts))
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

func quoteAll(texts []string) []byte {
	out := []byte{'['}
	for i, s := range slices.All(texts) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, quote(s)...)
	}
	return append(out, ']')
}
