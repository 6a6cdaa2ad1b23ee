package cli

import (
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

// proposedName is the name under which a proposed hook would be bound.
func proposedName(it *client.Approval) string {
	name, _ := phases.GetString(it.Details, "/binding/name")
	return name
}

// describeProposal prints what a proposed hook is and may do.
func (a *App) describeProposal(it *client.Approval) {
	a.field("details", indentJSON(it.Details))
}
