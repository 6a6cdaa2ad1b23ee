package kernel

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// DecisionPinned is that of the notice of NoteTools.
const DecisionPinned = "pinned"

// toolNote is the output of the notice of NoteTools.
type toolNote struct {
	Source string         `json:"source"`
	Tools  jsontext.Value `json:"tools"`
}

// NoteTools logs that an executor of tools has accepted what a source, such as an MCP server, says
// of its tools. tools says which they are; it holds no secret. The error is ErrUnavailable or
// ErrClosed: then it must not count.
func (k *Kernel) NoteTools(ctx context.Context, source, text string, tools jsontext.Value) error {
	out, err := json.Marshal(&toolNote{Source: source, Tools: tools})
	if err != nil {
		return err
	}
	now := k.options.Clock.Now()
	_, err = k.commit(ctx, Batch{Now: now, Events: []phases.Event{{
		ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, PolicyRevision: k.Revision(),
		Decision: DecisionPinned, Reason: phases.SafeText(text, phases.MaxReasonBytes), Output: out,
	}}})
	return err
}

// ToolsNoted reports whether NoteTools has logged a source, in the events that are not compacted.
// The error is ErrUnavailable.
func (k *Kernel) ToolsNoted(ctx context.Context, source string) (bool, error) {
	q := wire.Query{Type: phases.EventNotice, Decision: DecisionPinned, Newest: true, Limit: wire.MaxLimit}
	notes, err := k.options.Store.Events(ctx, q)
	if err != nil {
		return false, err
	}
	for i := range notes {
		var n toolNote
		if json.Unmarshal(notes[i].Output, &n) == nil && n.Source == source {
			return true, nil
		}
	}
	return false, nil
}
