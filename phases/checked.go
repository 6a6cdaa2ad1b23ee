package phases

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// Checked says that Validate has passed the action and the metadata of an invocation, in the memory in which they are.
// Of any other invocation it says nothing, and the zero value of none. It holds while no code writes to that memory.
type Checked struct {
	phase    Phase
	action   jsontext.Value
	metadata map[string]jsontext.Value

	runtime, tool string // what Tool says of an invocation of that runtime
	compact       bool   // see formOf
}

// Check is Validate that also says what has been checked, for NewCheckedChain.
func (inv *Invocation) Check() (Checked, error) {
	compact, err := inv.validate()
	if err != nil {
		return Checked{}, err
	}
	tool := inv.Tool()
	if len(tool) > MaxIDBytes { // a runtime's name, escaped
		return Checked{}, &DecodeError{Pointer: "/action/tool", Offset: -1,
			Reason: fmt.Sprintf("longer than %d bytes in the form that rules match", MaxIDBytes)}
	}
	return Checked{inv.Phase, inv.Action, inv.Metadata, inv.Runtime, tool, compact}, nil
}

// Tool is Invocation.Tool, which is known of the invocation that was checked.
func (c Checked) Tool(inv *Invocation) string {
	if c.covers(inv) && c.runtime == inv.Runtime {
		return c.tool
	}
	return inv.Tool()
}

// Covers reports whether action and metadata of the invocation are known to be strict, and of their form.
func (c Checked) Covers(inv *Invocation) bool { return c.covers(inv) }

// Compact reports whether that action is known to be written without white space between values, and with each string
// in its shortest spelling.
func (c Checked) Compact(action jsontext.Value) bool {
	return c.compact && sameMemory(c.action, action)
}

// covers reports whether action and metadata of the invocation are those that were checked.
func (c Checked) covers(inv *Invocation) bool {
	return c.phase != "" && c.phase == inv.Phase && sameMemory(c.action, inv.Action) && sameMap(c.metadata, inv.Metadata)
}

func sameMap(a, b map[string]jsontext.Value) bool {
	return len(a) == len(b) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// validateAfter is Validate of an invocation of which something may have been checked before: ids, names, times and
// scopes are always checked, action and metadata unless they are the ones that were.
func (inv *Invocation) validateAfter(checked Checked) error {
	if !checked.covers(inv) {
		return inv.Validate()
	}
	return inv.validateEnvelope()
}
