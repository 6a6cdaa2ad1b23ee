package phases

import (
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func itoa(i int) string { return strconv.Itoa(i) }

// outsideError says that an action goes beyond its scopes, or that it cannot be
// told; it is of class ErrOutside. Reason names no path, host or argument.
type outsideError struct {
	scope  string // fs_read, fs_write, net or tools
	reason string
}

// Error returns scope and reason.
func (e *outsideError) Error() string { return e.scope + ": " + e.reason }

// Is reports the class ErrOutside.
func (e *outsideError) Is(target error) bool { return target == ErrOutside }

// Fault returns the block that it means: the action may not run.
func (e *outsideError) Fault() *Fault {
	return NewFault(KindPolicy, "the action is outside of its scopes ("+e.scope+"): "+e.reason, e)
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

// reachOf is the table of known tools. All others are opaque.
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
// runtimes that cannot enforce scopes themselves. inv.Scopes is what can be reached
// at most by whatever runs the action; the zero value is everything. A tool that is
// not in scopes.Tools, a file or a host that the action names and that is not in
// scope, and a child's tool that is not in scope are errors. Where it cannot be told
// what the action touches (a command, an unknown tool, a path with "..", leading blanks, characters that are not seen
// or a backslash, one that decodes to another which is not in scope, a child or a transition at all), it is an error
// if scopes are narrower than inv.Scopes.
//
// Paths are compared as they are written: no symbolic link is followed (that does
// CheckScopesFollowing), and letter case counts. The error is of class ErrOutside.
func CheckScopes(inv Invocation, action jsontext.Value, scopes Scopes) error {
	return CheckScopesFollowing(inv, action, scopes, nil)
}

// CheckScopesFollowing is CheckScopes with symbolic links resolved: follow takes a
// clean absolute path and returns its real path, or false when that cannot be
// told. The real path is compared with the scopes. Nil follows nothing.
func CheckScopesFollowing(inv Invocation, action jsontext.Value, scopes Scopes,
	follow func(string) (string, bool)) error {
	check := scopeCheck{inv: inv, scopes: scopes, follow: follow}
	switch inv.Phase {
	case PreTool:
		final := inv
		final.Action = action
		tool := final.Tool()
		if !scopes.Tools.AllowsTool(tool) {
			return &outsideError{"tools", "the tool is not in scope"}
		}
		args, _ := Get(action, "/args")
		return check.tool(tool, args)
	case Spawn:
		tools, ok := Get(action, "/child/tools")
		if !ok {
			if !scopes.Tools.Contains(ScopeTool, inv.Scopes.Tools) {
				return &outsideError{"tools", "the child names no tools, and tools are narrowed"}
			}
		}
		for _, t := range toolNames(tools) {
			if name, _ := NormalizeTool(inv.Runtime, t); !scopes.Tools.AllowsTool(name) {
				return &outsideError{"tools", "a tool of the child is not in scope"}
			}
		}
		return check.unknown("a child agent cannot be held to it")
	case StateTransition:
		return check.unknown("a transition cannot be held to it")
	}
	return nil
}

type scopeCheck struct {
	inv    Invocation
	scopes Scopes
	moved  bool // an argument says what relative paths are relative to
	follow func(string) (string, bool)
}

// Opaque reports whether an action of the invocation's kind does not tell which
// files and hosts it touches: a command, an unknown tool, a child agent, a transition.
func Opaque(inv Invocation) bool {
	if inv.Phase != PreTool && inv.Phase != PostTool {
		return true
	}
	return reachOf(inv.Tool()) == reachOpaque
}

// narrowed reports whether something that can be reached is not in scope.
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

// unknown is the answer where the action does not say which files or hosts it touches.
func (c scopeCheck) unknown(why string, names ...string) error {
	if len(names) == 0 {
		names = []string{"fs_read", "fs_write", "net"}
	}
	for _, name := range names {
		if c.narrowed(name) {
			return &outsideError{name, "narrowed, and " + why}
		}
	}
	return nil
}

func (c scopeCheck) tool(tool string, args jsontext.Value) error {
	far := reachOf(tool)
	switch far {
	case reachNothing:
		return nil
	case reachOpaque:
		return c.unknown("it cannot be told what the tool touches")
	}
	c.moved = namesBase(args)
	switch far {
	case reachRead:
		if err := c.paths("fs_read", c.scopes.FSRead, pathArguments(args), false); err != nil {
			return err
		}
		return c.hints("fs_read", args, "")
	case reachWrite:
		if err := c.paths("fs_write", c.scopes.FSWrite, pathArguments(args), false); err != nil {
			return err
		}
		return c.hints("fs_write", args, "")
	case reachSearch:
		return c.search(tool, args)
	case reachPatch:
		names, ok := patchedFiles(args)
		if !ok {
			return c.unknown("the patch does not name its files in a known way", "fs_write")
		}
		return c.paths("fs_write", c.scopes.FSWrite, names, false)
	case reachFetch:
		return c.fetch(args)
	default: // reachSearchWeb
		return c.unknown("a web search does not name its host", "net")
	}
}

// paths checks files, or, for subtree, everything below directories.
func (c scopeCheck) paths(name string, scope Scope, list []string, subtree bool) error {
	if len(list) == 0 {
		return c.unknown("the arguments name no path in a known way", name)
	}
	for _, p := range list {
		clean, ok := c.resolve(p)
		if ok {
			ok = c.readingAllowed(scope, p)
		}
		if ok && c.follow != nil {
			clean, ok = c.follow(clean)
			ok = ok && checkPath(clean) == ""
		}
		if !ok {
			if err := c.unknown("it cannot be told which file a path names", name); err != nil {
				return err
			}
			continue
		}
		allowed := scope.allowsPath(clean)
		if subtree && allowed {
			pattern := clean + "/**"
			if clean == "/" {
				pattern = "*"
			}
			// A directory whose name has a * cannot be written as a pattern.
			allowed = scope.Contains(ScopePath, Scope{pattern}) || scope.unrestricted(ScopePath)
		}
		if !allowed {
			return &outsideError{name, "a path is not in scope"}
		}
	}
	return nil
}

// readingAllowed reports that the path that a decoding program opens instead of p is in scope, too.
func (c scopeCheck) readingAllowed(scope Scope, p string) bool {
	also, ok := reading(p)
	if !ok || also == p {
		return ok
	}
	other, ok := c.resolve(also)
	return ok && scope.allowsPath(other)
}

// resolve makes a path absolute and clean; false when that needs the file
// system, a shell or another system's rules: "..", which symlinks turn elsewhere,
// ~, variables, URLs, drives, a spelling that is unclear, and relative paths without a working directory.
func (c scopeCheck) resolve(p string) (string, bool) {
	if p == "" || p[0] == '~' || p[0] == '$' || strings.Contains(p, "://") || hasScheme(p) || unclear(p) || variable(p) {
		return "", false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", false
		}
	}
	if p[0] != '/' {
		if c.inv.CWD == "" || c.moved {
			return "", false
		}
		p = c.inv.CWD + "/" + p
	}
	p = path.Clean(p)
	return p, checkPath(p) == "" && !alias(p)
}

// hasScheme reports file:/x and C:\x, which no file of here is called.
func hasScheme(p string) bool {
	return len(p) >= 5 && strings.EqualFold(p[:5], "file:") ||
		len(p) >= 2 && p[1] == ':' && (p[0]|32 >= 'a' && p[0]|32 <= 'z')
}

// search checks the directory of a search, the working directory by default,
// and patterns that lead out of it.
func (c scopeCheck) search(tool string, args jsontext.Value) error {
	list := pathArguments(args)
	if len(list) == 0 {
		list = []string{"."}
	}
	if err := c.paths("fs_read", c.scopes.FSRead, list, true); err != nil {
		return err
	}
	return c.hints("fs_read", args, tool)
}

// hints looks at the arguments that are not known to name files: one that reads
// like a path to somewhere else may be one.
func (c scopeCheck) hints(name string, args jsontext.Value, tool string) error {
	for _, a := range otherArguments(args) {
		if isProse(a.name, name == "fs_write") || tool == "grep" && isRegexp(a.name) {
			continue
		}
		if text := a.value(); leadsOutside(tool, a.name, text) || strings.Contains(text, "://") || hasScheme(text) {
			return c.unknown("an argument may lead to another file or directory", name)
		}
	}
	return nil
}

// leadsOutside reports an argument that reads like a pattern for another directory. That of grep is mostly a regular
// expression, which is taken as it is written.
func leadsOutside(tool, name, text string) bool {
	if looksLikeGlobOutside(text) {
		return true
	}
	if tool == "grep" && name == "pattern" {
		return false
	}
	other, ok := reading(text)
	return !ok || looksLikeGlobOutside(other) || strings.HasPrefix(other, "$") || variable(other) || hasScheme(other) ||
		tool == "glob" && strings.Contains(other, `\`)
}

// looksLikeGlobOutside reports patterns that do not stay below the directory:
// absolute ones, .. and ~. A regular expression that begins with a slash is
// taken for one too: rather once too often.
func looksLikeGlobOutside(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.Contains(p, "..")
}

// patchHeaders returns the names in a patch's header lines. A line that looks
// like a header of another kind becomes a name that resolves to nothing.
func patchHeaders(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(strings.TrimRight(line, "\r\n"), "\r") {
			out = append(out, "") // some readers take a lone carriage return for the end of a line
		}
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
