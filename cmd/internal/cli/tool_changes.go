package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/toolpins"
	"github.com/belay-hooks/belay/kernel/approvals"
)

const toolChangeAdvice = "Their calls wait. `belay approvals list --kind tool` prints what waits, after the next call; docs/TOOLS.md says how to accept it."

// changedTools says what an MCP server says of its tools that no person has accepted.
func changedTools(w wire.ChangedTools) string {
	return "MCP server " + oneLine(w.Server, 64) + ": " + oneLine(strings.Join(w.Changes, "; "), 300)
}

// examineTools looks for definitions of tools that no person has accepted.
func examineTools(dir string) (found []finding) {
	list, err := toolpins.Waits(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // another user's, whose daemon says it
	}
	if err != nil {
		return []finding{{Check: "tools", Status: "fail", Text: err.Error(),
			Advice: "No tool of an MCP server runs. Put back the file as it was; without it belay accepts what it sees next."}}
	}
	for _, w := range list {
		found = append(found, finding{Check: "tools", Status: "warn", Red: true, Text: changedTools(w),
			Advice: toolChangeAdvice})
	}
	return found
}

// describeToolChange prints what a person accepts by approving: the definitions line by line.
func (a *App) describeToolChange(item *approvals.Item) {
	c, err := queue.ToolChangeOf(item)
	if err != nil {
		a.field("details", indentJSON(item.Details))
		return
	}
	a.field("server", c.Server)
	if c.Way != nil {
		a.field("reached", "as belay.yaml says now (+), and as it said before (-)")
		a.printDiff(strings.Split(c.Way.Was, "\n"), strings.Split(c.Way.Becomes, "\n"), 3)
	}
	for _, t := range c.Tools {
		switch {
		case t.Change == queue.ToolGone:
			a.field("tool", t.Tool+"  is gone; it was "+t.From)
			continue
		case t.Change == queue.ToolNew:
			a.field("tool", t.Tool+"  is new; it is "+t.To)
		default:
			a.field("tool", t.Tool+"  changed from "+t.From+"\nto "+t.To)
		}
		switch {
		case t.Now == "":
			a.field("", "too large to be shown")
		case t.Was == "":
			a.printDiff(nil, strings.Split(t.Now, "\n"), 3)
		default:
			a.printDiff(strings.Split(t.Was, "\n"), strings.Split(t.Now, "\n"), 3)
		}
	}
}

// toolChangeSubject names the server in a list of approvals.
func toolChangeSubject(it *approvals.Item) string {
	c, err := queue.ToolChangeOf(it)
	if err != nil {
		return "tools of an MCP server"
	}
	return fmt.Sprintf("tools of MCP server %s", c.Server)
}
