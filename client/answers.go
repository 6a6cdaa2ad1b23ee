package client

import (
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Role is what a credential is good for. Roles do not contain each other.
type Role string

const (
	RoleInvoke Role = "invoke" // ask about actions; what an agent runtime's configuration holds
	RoleReview Role = "review" // read the log, the queue and the status
	RoleAdmin  Role = "admin"  // the same, and change how the daemon runs
)

// Roles returns all roles. The slice is the caller's.
func Roles() []Role { return []Role{RoleInvoke, RoleReview, RoleAdmin} }

// Compaction says which events are compacted: the contents of all before the first
// one that is not older than Before.
type Compaction struct {
	Before time.Time `json:"before,omitzero"`
	Why    string    `json:"why,omitzero"` // one line, for the record
	DryRun bool      `json:"dry_run,omitzero"`

	// Statement is a reviewer's, needed where one is registered. It says itself which
	// events, so that Before is left out then.
	Statement *approvals.Order `json:"statement,omitzero"`
}

// Answer is what a runtime's payload comes to, for a caller that the runtime
// started as a command: it writes Stdout and Stderr and ends with Exit.
type Answer struct {
	Stdout   string           `json:"stdout"`
	Stderr   string           `json:"stderr"`
	Exit     int              `json:"exit"` // 0 or 2
	Notes    []string         `json:"notes"`
	Verdicts []phases.Verdict `json:"verdicts"`
}

// Reloaded is what a reload came to.
type Reloaded struct {
	Revision string `json:"revision"` // of configuration and trust policy that are in use now
}

// List is the envelope of listings; a member that the request did not ask for is absent.
type List struct {
	Events  []phases.Event `json:"events,omitzero"`
	More    bool           `json:"more,omitzero"` // of the events that were asked for there are more than the answer holds
	Hooks   []wire.Hook    `json:"hooks,omitzero"`
	Latches []wire.Latch   `json:"latches,omitzero"`

	Approvals []approvals.Item `json:"approvals,omitzero"`
	Leases    []leases.View    `json:"leases,omitzero"`
}
