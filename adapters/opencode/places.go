package opencode

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

func itoa(n int) string { return strconv.Itoa(n) }

// pathOf returns where in the output of the hook point a change of the action stands. ok is false for
// a change that OpenCode would ignore, or whose value it could not use; a nil value takes a member out.
func pathOf(event string, step int, ptr string, value, output jsontext.Value) (path string, ok bool) {
	text := value.Kind() == '"'
	switch event {
	case "chat.message", "command.execute.before":
		parts, _ := phases.Get(output, "/parts")
		texts, _ := partsOf(parts)
		if len(texts) != 1 || ptr != "/text" { // which of several parts a text is for cannot be told
			return "", false
		}
		return "/parts/" + itoa(texts[0].at) + "/text", text
	case "chat.params":
		return paramPath(ptr, value)
	case "chat.headers":
		return ptr, phases.Covers("/headers", ptr) && ptr != "/headers" && (value == nil || text)
	case "experimental.chat.system.transform":
		if ptr == "/system" {
			return ptr, value.Kind() == '['
		}
		return ptr, text && strings.Count(ptr, "/") == 2
	case "experimental.chat.messages.transform":
		return messagePath(ptr, value)
	case "experimental.text.complete":
		return ptr, ptr == "/text" && text
	case "tool.execute.before":
		if step > 0 {
			return "/args/prompt", ptr == "/child/prompt" && text
		}
		return ptr, phases.Covers("/args", ptr) && (ptr != "/args" || value.Kind() == '{')
	case "tool.execute.after":
		path, ok = strings.CutPrefix(ptr, "/result")
		return path, ok && (path != "" || value.Kind() == '{')
	case "shell.env":
		path, ok = strings.CutPrefix(ptr, "/args")
		return path, ok && strings.HasPrefix(path, "/env/") && (value == nil || text)
	case "experimental.session.compacting":
		path, _ = strings.CutPrefix(ptr, "/data")
		switch {
		case path == "/prompt":
			return path, value == nil || text
		case path == "/context":
			return path, value.Kind() == '['
		}
		return path, strings.HasPrefix(path, "/context/") && text
	case "experimental.compaction.autocontinue":
		return "/enabled", ptr == "/data/enabled" && (value.Kind() == 't' || value.Kind() == 'f')
	}
	return "", false
}

// paramPath is pathOf for a parameter of a request: numbers, and options of the provider.
func paramPath(ptr string, value jsontext.Value) (path string, ok bool) {
	rest, ok := strings.CutPrefix(ptr, "/params/")
	if !ok {
		return "", false
	}
	name, below, deep := strings.Cut(rest, "/")
	native, ok := paramNames()[name]
	switch {
	case !ok:
		return "", false
	case name == "options" && deep:
		return "/options/" + below, true
	case name == "options":
		return "/options", value.Kind() == '{'
	}
	return "/" + native, !deep && (value == nil || value.Kind() == '0')
}

// messagePath is pathOf for a message of the conversation, whose parts are its content.
func messagePath(ptr string, value jsontext.Value) (path string, ok bool) {
	rest, ok := strings.CutPrefix(ptr, "/messages/")
	if !ok {
		return "", false
	}
	index, below, _ := strings.Cut(rest, "/")
	below, ok = strings.CutPrefix("/"+below, "/content")
	if !ok || below == "" && value.Kind() != '[' || below != "" && !strings.HasPrefix(below, "/") {
		return "", false
	}
	return "/messages/" + index + "/parts" + below, true
}

// sameShape refuses a result that OpenCode could not use: its text stays a text, and its metadata an
// object. The model would get the original of what OpenCode cannot read.
func sameShape(final, output jsontext.Value) string {
	for _, at := range []string{"/output", "/title", "/metadata", "/content", "/attachments"} {
		was, had := phases.Get(output, at)
		is, has := phases.Get(final, "/result"+at)
		if had != has && at != "/attachments" || had && has && was.Kind() != is.Kind() {
			return "a hook gave the result a shape that OpenCode cannot use"
		}
	}
	return ""
}
