package queue

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// ToolChange is what an item of kind tool is about: how what an MCP server says of its tools
// differs from what was accepted. An approval accepts exactly these differences.
type ToolChange struct {
	Server string        `json:"server"`
	Way    *MovedServer  `json:"way,omitzero"` // belay.yaml reaches it in another way
	Tools  []ChangedTool `json:"tools,omitzero"`
}

// MovedServer is how belay.yaml reaches a server, before and now. The texts are redacted, the
// digests are not.
type MovedServer struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Was     string `json:"was"`
	Becomes string `json:"becomes"`
}

// ChangedTool is one tool whose definition is not the accepted one. Was and Now are the
// definitions as text, redacted; "" where there is none, or where it is too large to be shown.
type ChangedTool struct {
	Tool   string `json:"tool"`
	Change string `json:"change"`        // ToolChanged, ToolNew or ToolGone
	From   string `json:"from,omitzero"` // digest of the accepted definition
	To     string `json:"to,omitzero"`   // digest of the present one
	Was    string `json:"was,omitzero"`
	Now    string `json:"now,omitzero"`
}

// What can become of a tool.
const (
	ToolChanged = "changed"
	ToolNew     = "new"
	ToolGone    = "gone"
)

// Empty reports whether nothing differs.
func (c *ToolChange) Empty() bool { return c.Way == nil && len(c.Tools) == 0 }

// Key is the key of a change: the same differences are the same question, from every requester.
// The texts do not count, since the digests name what they show.
func (c *ToolChange) Key() (string, error) {
	bare := ToolChange{Server: c.Server}
	if c.Way != nil {
		bare.Way = &MovedServer{From: c.Way.From, To: c.Way.To}
	}
	for _, t := range c.Tools {
		t.Was, t.Now = "", ""
		bare.Tools = append(bare.Tools, t)
	}
	raw, err := json.Marshal(&bare, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("approvals: %w", err)
	}
	return phases.Digest(raw)
}

// Lines says in a few words each what differs.
func (c *ToolChange) Lines() []string {
	var out []string
	if c.Way != nil {
		out = append(out, "belay.yaml reaches the server in another way")
	}
	for _, t := range c.Tools {
		switch t.Change {
		case ToolNew:
			out = append(out, "the tool "+t.Tool+" is new")
		case ToolGone:
			out = append(out, "the tool "+t.Tool+" is gone")
		default:
			out = append(out, "the definition of the tool "+t.Tool+" changed")
		}
	}
	return out
}

// ToolChangeOf reads what an item of kind tool is about.
func ToolChangeOf(it *approvals.Item) (ToolChange, error) {
	var c ToolChange
	if it.Kind != approvals.KindTool {
		return c, errors.New("this is no change of tools")
	}
	err := json.Unmarshal(it.Details, &c, json.RejectUnknownMembers(true))
	return c, err
}

// CheckToolChange finds out whether the members of such an item belong together: the key is
// that of its details. The error is of ErrUnsound.
func CheckToolChange(item *approvals.Item) error {
	change, err := ToolChangeOf(item)
	if err != nil {
		return fmt.Errorf("%w: its details cannot be read", approvals.ErrUnsound)
	}
	key, err := change.Key()
	if err != nil || key != item.Key {
		return fmt.Errorf("%w: its key is not that of the change that it shows", approvals.ErrUnsound)
	}
	return nil
}
