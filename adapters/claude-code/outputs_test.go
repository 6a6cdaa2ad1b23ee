package claudecode_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// outputShapes are those of testdata/outputs.json, by tool.
var outputShapes = sync.OnceValue(func() map[string][]any {
	var doc struct {
		Comment string
		Tools   map[string][]any
	}
	b, err := os.ReadFile("testdata/outputs.json")
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		panic(err)
	}
	return doc.Tools
})

// taken reports whether the client takes the replacement in the place of the output of the tool.
// For a tool of an MCP server it compares nothing; one whose shape is not known here is held to the
// output's own, which is the least that the client asks for.
func taken(tool string, original, replacement any) bool {
	if strings.HasPrefix(tool, "mcp__") {
		return true
	}
	shapes, known := outputShapes()[tool]
	if !known {
		return fits(original, replacement)
	}
	return slices.ContainsFunc(shapes, func(s any) bool { return ofShape(s, replacement) })
}

func ofShape(shape, v any) bool {
	switch s := shape.(type) {
	case string:
		kind, null := strings.CutSuffix(s, "|null")
		return v == nil && null || v != nil && kind == kindOf(v)
	case []any: // words
		return slices.Contains(s, v)
	case map[string]any:
		if each, ok := s["each"]; ok {
			list, ok := v.([]any)
			return ok && !slices.ContainsFunc(list, func(e any) bool { return !ofShape(each, e) })
		}
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		for name, want := range s {
			bare, optional := strings.CutSuffix(name, "?")
			if got, there := m[bare]; there && !ofShape(want, got) || !there && !optional {
				return false
			}
		}
		return true // the client passes over members that it does not know
	}
	return false
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	}
	return "object"
}

// The client's own outputs fit the shapes that it publishes.
func TestOutputShapes(t *testing.T) {
	for _, s := range samples(t) {
		p := parseObject(s.Payload)
		tool, _ := p["tool_name"].(string)
		if _, known := outputShapes()[tool]; known && s.Event == "PostToolUse" && !taken(tool, nil, p["tool_response"]) {
			t.Errorf("%s: %v", s.Name, p["tool_response"])
		}
	}
	if taken("Grep", nil, map[string]any{"mode": "belay: no", "numFiles": 0.0, "filenames": []any{}}) {
		t.Error("a mode that is no mode is taken")
	}
}

// printed is what the model reads of an output, as the client of 2.1.329 was seen to write it.
func printed(tool string, output any) string {
	m, _ := output.(map[string]any)
	at := func(path ...string) string {
		var v any = m
		for _, name := range path {
			o, _ := v.(map[string]any)
			v = o[name]
		}
		s, _ := v.(string)
		return s
	}
	switch tool {
	case "Edit":
		if m["replaceAll"] == true {
			return "The file " + at("filePath") + " has been updated. All occurrences were successfully replaced."
		}
		return "The file " + at("filePath") + " has been updated successfully."
	case "Write":
		if at("type") == "create" {
			return "File created successfully at: " + at("filePath")
		}
		return "The file " + at("filePath") + " has been updated successfully."
	case "NotebookEdit":
		if e := at("error"); e != "" {
			return "(error) " + e
		}
		return "Updated cell " + at("cell_id") + " with " + at("new_source")
	case "TaskUpdate":
		if m["success"] != true {
			return at("error")
		}
		return "Updated task #" + at("taskId")
	case "Read":
		return "1\t" + at("file", "content")
	case "Monitor":
		return "Monitor started (task " + at("taskId") + ", …). You will be notified on each event."
	case "TaskCreate":
		return "Task #" + at("task", "id") + " created successfully: " + at("task", "subject")
	case "Bash":
		return strings.TrimSpace(at("stdout") + "\n" + at("stderr"))
	case "Grep":
		if at("mode") == "content" {
			return at("content")
		}
	}
	b, _ := json.Marshal(output)
	return string(b)
}
