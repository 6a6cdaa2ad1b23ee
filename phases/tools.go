package phases

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Tool names
//
// Every runtime names its tools in its own way; hooks, matchers and scopes speak
// of normalised names: the words of KnownTools, mcp:SERVER:TOOL for tools of MCP
// servers (so that the scope patterns mcp:* and mcp:SERVER:* work), and for all
// others the runtime's own name as it is. Which names a runtime has for a word says
// its table in tool_tables.go; a runtime without one has the words alone.

// knownTools returns the normalised names.
func knownTools() []string {
	return []string{
		"agents_list", "apply_patch", "ask_user", "browser", "canvas", "cron", "edit", "exec", "gateway", "glob", "grep",
		"image", "list", "lsp", "memory_get", "memory_save", "memory_search", "message", "nodes", "plan", "process", "read",
		"session_status", "sessions_history", "sessions_list", "sessions_send", "sessions_spawn", "skill", "todo",
		"tool_search", "tts", "web_fetch", "web_search", "write",
	}
}

// KnownTools returns the normalised names, sorted. The slice is the caller's.
func KnownTools() []string { return knownTools() }

// ToolRuntimes returns the runtimes that have a table of their own names of tools, sorted. The slice
// is the caller's.
func ToolRuntimes() []string {
	return slices.Sorted(maps.Keys(toolTables()))
}

// foldTool maps spellings of one name together: Bash, run_shell_command, apply-patch, multiEdit.
func foldTool(s string) string {
	if isFolded(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '_' || r == '-' || r == '.' || r == ' ':
			return -1
		}
		return r
	}, s)
}

// isFolded reports that foldTool changes nothing.
func isFolded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < '0' || c > '9' && c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// toolIndex maps folded names to normalised ones, for each runtime that has a table and, as "", for
// all others.
func toolIndex() map[string]map[string]string {
	index := map[string]map[string]string{"": {}}
	for _, name := range knownTools() {
		index[""][foldTool(name)] = name
	}
	for runtime, table := range toolTables() {
		own := maps.Clone(index[""])
		for native, name := range table {
			own[foldTool(native)] = name
		}
		index[runtime] = own
	}
	return index
}

// toolsByRuntime is made once, when it is first needed: most events of a hook command need none.
var toolsByRuntime = sync.OnceValue(toolIndex)

// NormalizeTool returns the name under which hooks know a runtime's tool, and
// whether belay knows it: an entry of the runtime's table or of KnownTools, or a tool of an MCP
// server. A name that is already normalised stays as it is, so that
// normalising twice is the same as once. All other tools keep their own name.
//
// Each runtime has its own table: "search" of one agent is a search of text, and of another
// anything. A runtime that belay does not know has the normalised names alone.
func NormalizeTool(runtime, native string) (name string, known bool) {
	if server, tool, ok := splitMCP(native); ok {
		return MCPToolName(server, tool), true
	}
	table, ok := toolsByRuntime()[runtime]
	if !ok {
		table = toolsByRuntime()[""]
	}
	switch name, ok := table[foldTool(native)]; {
	case !ok:
		return native, false
	case name == "":
		return native, true
	default:
		return name, true
	}
}

// MCPToolName returns the normalised name of an MCP server's tool:
// mcp:SERVER:TOOL, with a colon inside either as %3A and % as %25.
func MCPToolName(server, tool string) string {
	return "mcp:" + mcpEscape(server) + ":" + mcpEscape(tool)
}

func mcpEscape(s string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", "*", "%2A", " ", "%20").Replace(s)
}

// splitMCP reads the form mcp__SERVER__TOOL; the server ends at the first double underscore.
func splitMCP(native string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(native, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// SplitMCPTool returns server and tool of the name of an MCP server's tool, in the
// form mcp__SERVER__TOOL or in the normalised one, mcp:SERVER:TOOL.
func SplitMCPTool(name string) (server, tool string, ok bool) {
	if server, tool, ok := splitMCP(name); ok {
		return server, tool, true
	}
	rest, ok := strings.CutPrefix(name, "mcp:")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, ":")
	unescape := strings.NewReplacer("%25", "%", "%3A", ":", "%2A", "*", "%20", " ")
	server, tool = unescape.Replace(server), unescape.Replace(tool)
	return server, tool, ok && server != "" && tool != "" && MCPToolName(server, tool) == name
}

// Normalize returns the invocation with the normalised tool name in the action
// of pre_tool and post_tool, and the runtime's own beside it as native_tool. An
// MCP tool's name comes from the mcp member when there is one: it cannot be
// confused with another. Everything else keeps its bytes; an invocation that is
// already normalised is returned as it is. The error is a *DecodeError.
func Normalize(inv Invocation) (Invocation, error) { return normalize(Checked{}, inv) }

func normalize(checked Checked, inv Invocation) (Invocation, error) {
	if inv.Phase != PreTool && inv.Phase != PostTool {
		return inv, nil
	}
	tool, ok := GetString(inv.Action, "/tool")
	if !ok {
		return inv, nil // decoding will name the fault
	}
	name := checked.Tool(&inv)
	if name == tool {
		return inv, nil
	}
	action, err := Set(inv.Action, "/tool", quote(name))
	if err != nil {
		return inv, &DecodeError{Pointer: "/action/tool", Offset: -1, Reason: "not valid"}
	}
	if _, ok := Get(action, "/native_tool"); !ok {
		if action, err = Set(action, "/native_tool", quote(tool)); err != nil {
			return inv, &DecodeError{Pointer: "/action/native_tool", Offset: -1, Reason: "not valid"}
		}
	}
	inv.Action = action
	return inv, nil
}

// Tool returns the normalised name of the tool that the invocation is about,
// for matching: of pre_tool and post_tool; "" in other phases.
func (inv *Invocation) Tool() string {
	if inv.Phase != PreTool && inv.Phase != PostTool {
		return ""
	}
	if server, ok := GetString(inv.Action, "/mcp/server"); ok {
		if tool, ok := GetString(inv.Action, "/mcp/tool"); ok {
			return MCPToolName(server, tool)
		}
	}
	tool, _ := GetString(inv.Action, "/tool")
	name, _ := NormalizeTool(inv.Runtime, tool)
	return name
}

// toolNames returns the names of pre_send's tools or a child's tools.
func toolNames(list jsontext.Value) []string {
	var out []string
	for _, e := range elements(list) {
		if name, ok := toolEntryName(e); ok {
			out = append(out, name)
		}
	}
	return out
}
