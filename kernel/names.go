package kernel

import (
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// redactNames redacts the names by which an invocation is found again. Everything that
// is filed under them (latches, metadata, leases, approvals, events) is filed under
// the redacted ones: the redaction of a name depends on the name alone, so that one
// session stays one session. What only this action knows for a secret is left in
// them: otherwise an agent could leave its latch behind by calling its session's name
// a password.
func (k *Kernel) redactNames(inv *phases.Invocation) error {
	for _, n := range [...]*string{&inv.Runtime, &inv.Session, &inv.Agent, &inv.Run, &inv.User} {
		if *n == "" {
			continue
		}
		redacted, err := k.options.Redactor.Text(*n)
		if err != nil {
			return phases.NewFault(phases.KindAudit, "the names of the invocation could not be redacted", err)
		}
		*n = redacted
	}
	return nil
}

// redactText redacts the text of a failure, which may quote what could not be read.
func (k *Kernel) redactText(s string) string {
	redacted, err := k.options.Redactor.Text(s)
	if err != nil {
		return "the action could not be decided"
	}
	return redacted
}

// redactNote redacts the names in a note, the identifier included, and its text: the process
// that left it may have had another redactor.
func (k *Kernel) redactNote(n *notes.Note) error {
	named := phases.Invocation{Runtime: n.Runtime, Session: n.Session}
	if err := k.redactNames(&named); err != nil {
		return err
	}
	id, err := k.options.Redactor.Text(n.Invocation)
	if err != nil {
		return phases.NewFault(phases.KindAudit, "the names of the invocation could not be redacted", err)
	}
	n.Invocation, n.Runtime, n.Session, n.Reason = id, named.Runtime, named.Session, k.redactText(n.Reason)
	return nil
}
