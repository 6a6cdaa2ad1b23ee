package phases

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// plainAction reports that DecodeAction takes an action which is known to be well formed. False says nothing: what is
// not a usual call of a tool is left to DecodeAction.
func plainAction(p Phase, action jsontext.Value) bool {
	if p != PreTool && p != PostTool || kindOf(action) != '{' {
		return false
	}
	right, tool, args, result := true, false, p == PostTool, p == PreTool
	walk(action, skipSpace(action, 0), func(m member) bool {
		value := action[m.value.start:m.value.end]
		switch string(action[m.name.start+1 : m.name.end-1]) {
		case "tool":
			tool = true
			right = plainID(value)
		case "native_tool", "call_id":
			right = plainID(value)
		case "args":
			args = true
			right = value[0] == '{'
		case "original_args":
			right = p == PostTool && value[0] == '{'
		case "result":
			right = p == PostTool
			result = true
		case "is_error":
			right = p == PostTool && (value[0] == 't' || value[0] == 'f')
		case "duration_ms":
			right = p == PostTool && plainNumber(value)
		default:
			right = false
		}
		return right
	})
	return right && tool && args && result
}

// plainID reports a string of ASCII without escapes that is an id or a name.
func plainID(value []byte) bool {
	if len(value) < 3 || value[0] != '"' || len(value) > MaxIDBytes+2 {
		return false
	}
	for _, c := range value[1 : len(value)-1] {
		if c < ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// plainNumber reports a number that is not negative and that a double can hold.
func plainNumber(value []byte) bool {
	return value[0] >= '0' && value[0] <= '9' && len(value) < 16 && bytes.IndexByte(value, 'e') < 0 &&
		bytes.IndexByte(value, 'E') < 0
}
