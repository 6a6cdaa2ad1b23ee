package phases

import (
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func itoa(i int) string { return strconv.Itoa(i) }

// OutsideError says that an action goes beyond its scopes, or that it cannot be
// told; it is of class ErrOutside. Reason names no path, host or argument.
type OutsideError struct {
	Scope  string // fs_read, fs_write, net or tools
	Reason string
}

// Error returns scope and reason.
func (e *OutsideError) Error() string { return e.Scope + ": " + e.Reason }

// Is reports the class ErrOutside.
func (e *OutsideError) Is(target error) bool { return target == ErrOutside }

// Fault returns the block that it means: the action may not run.
func (e *OutsideError) Fault() *Fault {
	return NewFault(KindPolicy, "the action is outside of its scopes ("+e.Scope+"): "+e.Reason, e)
}

// reach says how the scopes that a tool's call needs can be read off its arguments.
type reach uint8

const (
	reachOpaque    reach = iota // cannot be told
	reachNothing                // touches neither files nor hosts
	reachRead                   // reads the files that its arguments name
	reachSearch                 // reads everything below the directory that its arguments name
	reachWrite                  // writes the files that its arguments name
	reachPatch                  // writes the files that the patch's own lines name
	reachFetch                  // talks to the host that its arguments name
	reachSearchWeb              // talks to some host, touches no file
)

// reachOf is the table of what is known about tools. What is not in it is opaque.
func reachOf(tool string) reach {
	switch tool {
	case "read":
		return reachRead
	case "grep", "glob", "list":
		return reachSearch
	case "write", "edit":
		return reachWrite
	case "apply_patch":
		return reachPatch
	case "web_fetch":
		return reachFetch
	case "web_search":
		return reachSearchWeb
	case "todo", "plan", "ask_user", "tool_search", "memory_search", "memory_get", "sessions_list",
		"sessions_history", "sessions_send", "session_status", "agents_list":
		return reachNothing
	}
	return reachOpaque
}

// CheckScopes checks a final action against the scopes that the chain left, for
// runtimes that cannot enforce scopes themselves. inv is the invocation as it
// came in, with the caller's scopes. A tool that is not in scopes.Tools, a file
// or a host that the action names and that is not in scope, and a child's tool
// that is not in scope are errors. Where it cannot be told what the action
// touches (a command, an unknown tool, a path with "..", a child or a transition
// at all), it is an error if the chain narrowed what the caller had.
//
// Paths are compared as they are written: symlinks and letter case are the
// kernel's to resolve before. The error is an *OutsideError.
func CheckScopes(inv Invocation, action jsontext.Value, scopes Scopes) error {
	c := scopeCheck{inv: inv, scopes: scopes}
	switch inv.Phase {
	case PreTool:
		final := inv
		final.Action = action
		tool := final.Tool()
		if !scopes.Tools.AllowsTool(tool) {
			return &OutsideError{"tools", "the tool is not in scope"}
		}
		args, _ := Get(action, "/args")
		return c.tool(tool, args)
	case Spawn:
		tools, ok := Get(action, "/child/tools")
		if !ok {
			if !scopes.Tools.Contains(ScopeTool, inv.Scopes.Tools) {
				return &OutsideError{"tools", "the child names no tools, and tools are narrowed"}
			}
		}
		for _, t := range toolNames(tools) {
			if name, _ := NormalizeTool(inv.Runtime, t); !scopes.Tools.AllowsTool(name) {
				return &OutsideError{"tools", "a tool of the child is not in scope"}
			}
		}
		return c.unknown("a child agent cannot be held to it")
	case StateTransition:
		return c.unknown("a transition cannot be held to it")
	}
	return nil
}

type scopeCheck struct {
	inv    Invocation
	scopes Scopes
}

// narrowed reports whether the chain took away something that the caller had.
func (c scopeCheck) narrowed(name string) bool {
	switch name {
	case "fs_read":
		return !c.scopes.FSRead.Contains(ScopePath, c.inv.Scopes.FSRead)
	case "fs_write":
		return !c.scopes.FSWrite.Contains(ScopePath, c.inv.Scopes.FSWrite)
	default:
		return !c.scopes.Net.Contains(ScopeNet, c.inv.Scopes.Net)
	}
}

// unknown is the answer where the action does not say what it touches.
func (c scopeCheck) unknown(why string, names ...string) error {
	if len(names) == 0 {
		names = []string{"fs_read", "fs_write", "net"}
	}
	for _, name := range names {
		if c.narrowed(name) {
			return &OutsideError{name, "narrowed, and " + why}
		}
	}
	return nil
}

func (c scopeCheck) tool(tool string, args jsontext.Value) error {
	switch reachOf(tool) {
	case reachNothing:
		return nil
	case reachRead:
		return c.paths("fs_read", c.scopes.FSRead, pathArguments(args), false)
	case reachWrite:
		return c.paths("fs_write", c.scopes.FSWrite, pathArguments(args), false)
	case reachSearch:
		return c.search(args)
	case reachPatch:
		names, ok := patchedFiles(args)
		if !ok {
			return c.unknown("the patch does not name its files in a known way", "fs_write")
		}
		return c.paths("fs_write", c.scopes.FSWrite, names, false)
	case reachFetch:
		return c.fetch(args)
	case reachSearchWeb:
		return c.unknown("a web search does not name its host", "net")
	}
	return c.unknown("it cannot be told what the tool touches")
}

// paths checks files, or, for subtree, everything below directories.
func (c scopeCheck) paths(name string, scope Scope, list []string, subtree bool) error {
	if len(list) == 0 {
		return c.unknown("the arguments name no path in a known way", name)
	}
	for _, p := range list {
		clean, ok := c.resolve(p)
		if !ok {
			if err := c.unknown("it cannot be told which file a path names", name); err != nil {
				return err
			}
			continue
		}
		allowed := scope.AllowsPath(clean)
		if subtree && allowed {
			pattern := clean + "/**"
			if clean == "/" {
				pattern = "*"
			}
			// A directory whose name has a * cannot be written as a pattern.
			allowed = scope.Contains(ScopePath, Scope{pattern}) || scope.Unrestricted(ScopePath)
		}
		if !allowed {
			return &OutsideError{name, "a path is not in scope"}
		}
	}
	return nil
}

// resolve makes a path absolute and clean; false when that needs the file
// system or a shell: "..", which symlinks turn elsewhere, ~, URLs, and
// relative paths without a working directory.
func (c scopeCheck) resolve(p string) (string, bool) {
	if p == "" || p[0] == '~' || strings.Contains(p, "://") {
		return "", false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", false
		}
	}
	if p[0] != '/' {
		if c.inv.CWD == "" {
			return "", false
		}
		p = c.inv.CWD + "/" + p
	}
	p = path.Clean(p)
	return p, checkPath(p) == ""
}

// search checks the directory of a search, the working directory by default,
// and patterns that lead out of it.
func (c scopeCheck) search(args jsontext.Value) error {
	list := pathArguments(args)
	if len(list) == 0 {
		list = []string{"."}
	}
	if err := c.paths("fs_read", c.scopes.FSRead, list, true); err != nil {
		return err
	}
	for _, ptr := range []string{"/pattern", "/glob", "/include", "/glob_pattern"} {
		pattern, ok := GetString(args, ptr)
		if !ok || ptr == "/pattern" && !looksLikeGlobOutside(pattern) {
			continue
		}
		if looksLikeGlobOutside(pattern) {
			if err := c.unknown("a pattern may lead out of the directory that is searched", "fs_read"); err != nil {
				return err
			}
		}
	}
	return nil
}

// looksLikeGlobOutside reports patterns that do not stay below the directory:
// absolute ones, .. and ~. A regular expression that begins with a slash is
// taken for one too: rather once too often.
func looksLikeGlobOutside(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.Contains(p, "..")
}

// fetch checks the host of a URL.
func (c scopeCheck) fetch(args jsontext.Value) error {
	raw, ok := GetString(args, "/url")
	if !ok {
		return c.unknown("the arguments name no URL", "net")
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Hostname() == "" {
		return c.unknown("it cannot be told which host a URL names", "net")
	}
	port := map[string]int{"http": 80, "https": 443, "ws": 80, "wss": 443}[strings.ToLower(u.Scheme)]
	if s := u.Port(); s != "" {
		port, _ = parsePort(s)
	}
	if !c.scopes.Net.AllowsHost(u.Hostname(), port) {
		if c.scopes.Net.Unrestricted(ScopeNet) {
			return nil // odd hosts are in no scope, but here none was asked for
		}
		return &OutsideError{"net", "a host is not in scope"}
	}
	return nil
}

// pathArguments returns the strings among a file tool's arguments that name
// files or directories, by the names that runtimes give such arguments.
func pathArguments(args jsontext.Value) []string {
	var out []string
	walk(args, skipSpace(args, 0), func(m member) bool {
		name, _ := unquote(args[m.name.start:m.name.end])
		v := args[m.value.start:m.value.end]
		if !isPathArgument(name) {
			return true
		}
		if s, ok := GetString(v, ""); ok {
			out = append(out, s)
		}
		for _, e := range elements(v) {
			if s, ok := GetString(e, ""); ok {
				out = append(out, s)
			} else if s, ok := GetString(e, "/path"); ok {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

func isPathArgument(name string) bool {
	n := foldTool(name)
	for _, suffix := range []string{"text", "content", "contents", "type", "types", "pattern", "filter", "filtering", "limit", "options"} {
		if strings.HasSuffix(n, suffix) {
			return false
		}
	}
	for _, part := range []string{"path", "file", "dir", "folder"} {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}

// patchedFiles returns the files that a patch in the *** Begin Patch form names.
func patchedFiles(args jsontext.Value) ([]string, bool) {
	var out []string
	texts := 0
	walk(args, skipSpace(args, 0), func(m member) bool {
		text, ok := GetString(args[m.value.start:m.value.end], "")
		if ok && strings.Contains(text, "***") {
			texts++
			out = append(out, patchHeaders(text)...)
		}
		return true
	})
	return out, texts == 1 && len(out) > 0
}

// patchHeaders returns the names in a patch's header lines. A line that looks
// like a header of another kind becomes a name that resolves to nothing.
func patchHeaders(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		header, ok := strings.CutPrefix(strings.TrimSpace(line), "***")
		if !ok {
			continue
		}
		header = strings.TrimSpace(header)
		switch header {
		case "Begin Patch", "End Patch", "End of File":
			continue
		}
		kind, name, _ := strings.Cut(header, ":")
		switch kind {
		case "Add File", "Update File", "Delete File", "Move to":
			out = append(out, strings.TrimSpace(name))
		default:
			out = append(out, "")
		}
	}
	return out
}
