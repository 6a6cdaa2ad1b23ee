package openclaw

import (
	"strings"

	"github.com/go-json-experiment/json"
)

// Prepared returns the decoded arguments of a call as OpenClaw makes them before it asks hooks, where its log has
// what the model wrote: the older form of an edit becomes a list of edits, and the message of sessions_send has
// one name. What it repairs of JSON that is none, and what it takes for reasoning in a message, is not followed: such
// a call differs.
func Prepared(tool string, args any) any {
	members, ok := args.(map[string]any)
	switch {
	case !ok:
	case tool == "edit":
		return preparedEdit(members)
	case tool == "sessions_send":
		return preparedMessage(members)
	}
	return args
}

func preparedEdit(args map[string]any) map[string]any {
	edits := args["edits"]
	if text, ok := edits.(string); ok {
		var list []any
		if json.Unmarshal([]byte(text), &list) == nil {
			edits = list
		}
	}
	list, isList := edits.([]any)
	if isList {
		plain := make([]any, len(list))
		for i, e := range list {
			plain[i] = e
			if e, ok := e.(map[string]any); ok {
				plain[i] = only(e, "oldText", "newText")
			}
		}
		list, edits = plain, plain
	}
	before, ok := args["oldText"].(string)
	after, ok2 := args["newText"].(string)
	if ok && ok2 {
		if !holds(list, before, after) {
			list = append(list, map[string]any{"oldText": before, "newText": after})
		}
		edits = list
	}
	out := only(args, "path")
	if edits != nil {
		out["edits"] = edits
	}
	return out
}

func holds(edits []any, before, after string) bool {
	for _, e := range edits {
		if e, ok := e.(map[string]any); ok && e["oldText"] == before && e["newText"] == after {
			return true
		}
	}
	return false
}

// only returns the members of these names.
func only(from map[string]any, names ...string) map[string]any {
	out := map[string]any{}
	for _, n := range names {
		if v, ok := from[n]; ok {
			out[n] = v
		}
	}
	return out
}

func preparedMessage(args map[string]any) map[string]any {
	aliases := []string{"SendMessage", "content", "text"}
	out := map[string]any{}
	for n, v := range args {
		out[n] = v
	}
	if message, _ := out["message"].(string); strings.TrimSpace(message) == "" {
		for _, a := range aliases {
			if text, _ := out[a].(string); strings.TrimSpace(text) != "" {
				out["message"] = text
				break
			}
		}
	}
	for _, a := range aliases {
		delete(out, a)
	}
	return out
}
