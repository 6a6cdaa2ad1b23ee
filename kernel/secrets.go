package kernel

import (
	"time"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// audit returns the builder of the invocation's record. An invocation on behalf of a hook's turn
// shares its known secrets with the invocation that the turn belongs to. They take turns in one
// goroutine.
func (i *invocation) audit() *audit.Builder {
	if i.builder.Redactor != nil {
		return &i.builder
	}
	if i.secrets == nil && i.parentBudget.nested() && i.parentBudget.scope.asker != nil {
		i.secrets = i.parentBudget.scope.asker.redactor()
	}
	if i.secrets == nil {
		i.secrets = i.kernel.options.Redactor
		if r, ok := i.kernel.options.Redactor.(Remembering); ok {
			i.secrets = r.Remember()
		}
	}
	i.builder = audit.Builder{Redactor: i.secrets, Digester: i.kernel.options.Digester, Buffers: i.kernel.audit.Buffers}
	i.builder.Fresh, _ = i.kernel.options.Redactor.(Remembering)
	return &i.builder
}

// secretName refuses a turn that would use a secret as the name of metadata or of state. Values
// are redacted where they are stored; a redacted name would be another name, and the hook could
// not find its own value again.
func (i *invocation) secretName(o *Outcome) *phases.Fault {
	var names []string
	for _, e := range o.Effects {
		if e.Kind == phases.EffectAnnotate {
			names = append(names, e.Key)
		}
	}
	for _, w := range o.StateWrites {
		if !w.Delete {
			names = append(names, w.Key)
		}
	}
	return i.secretAmong(names)
}

// secretAmong refuses names that hold a secret.
func (i *invocation) secretAmong(names []string) *phases.Fault {
	for _, name := range names {
		switch redacted, err := i.redactor().Text(name); {
		case err != nil:
			return phases.NewFault(phases.KindAudit, "the names that a hook wrote could not be redacted", err)
		case redacted != name:
			return phases.NewFault(phases.KindOutput, "the hook used a secret as a name of metadata or state", nil)
		}
	}
	return nil
}

// lateName is secretName for secrets that were learned after the turns: a secret that one hook
// shows may be the name that another has used before.
func (i *invocation) lateName(c *chain, wrote phases.Metadata) *phases.Fault {
	var names []string
	for name := range wrote {
		names = append(names, name)
	}
	for n := range c.stateWrites {
		if w := &c.stateWrites[n]; !w.Delete {
			names = append(names, w.Key)
		}
	}
	return i.secretAmong(names)
}

// known says how much the redactor keeps in mind.
func (i *invocation) known() int {
	if m, ok := i.audit().Redactor.(Memory); ok {
		return m.Known()
	}
	return 0
}

// build makes the record in place. It redacts metadata and state again if they were redacted for the
// store before the record had shown every secret.
func (i *invocation) build(record *audit.Record, chain *chain, run RunState, verdict *phases.Verdict,
	wrote phases.Metadata, ids func() string, at time.Time) (phases.Metadata, error) {
	builder := i.audit()
	for {
		known := i.known()
		err := builder.BuildIn(record, i.input, verdict, wrote, chain.turns, ids(), at)
		if err != nil || i.known() == known {
			return wrote, err
		}
		if f := i.lateName(chain, wrote); f != nil && verdict.Decision != phases.Block {
			blockVerdict(verdict, f.Kind, kernelName, f.Text)
			i.applyEnforcement(verdict)
			verdict.Metadata, wrote, chain.stateWrites, chain.late = cloneMetadata(run.Metadata), nil, nil, f
		}
		if wrote != nil {
			if wrote, err = i.changedMetadata(run, verdict, chain); err != nil {
				return nil, phases.NewFault(phases.KindAudit, "the metadata could not be redacted", err)
			}
		}
		for n := range chain.stateWrites {
			if err := i.redactState(&chain.stateWrites[n]); err != nil {
				return nil, phases.NewFault(phases.KindAudit, "a hook's state could not be redacted", err)
			}
		}
	}
}

// redactState redacts a value that a hook stores, unless it is no text.
func (i *invocation) redactState(w *StateWrite) error {
	if w.Delete || !utf8.Valid(w.Value) {
		return nil
	}
	redacted, err := audit.ForStored(i.redactor()).Text(string(w.Value))
	if err == nil {
		w.Value = []byte(redacted)
	}
	return err
}

// redactItem redacts once more what a person is shown: it was made in the middle of the
// invocation, and the record has shown more secrets since.
func (i *invocation) redactItem(item *approvals.Item) error {
	redactor := i.redactor()
	texts := []*string{&item.Reason, &item.Tool}
	for n := range item.Hooks {
		texts = append(texts, &item.Hooks[n].Reason)
	}
	for _, t := range texts {
		redacted, err := redactor.Text(*t)
		if err != nil {
			return err
		}
		*t = redacted
	}
	if item.Details == nil {
		return nil
	}
	redacted, _, err := redactor.JSON(item.Details)
	item.Details = redacted
	return err
}

// redactor redacts what hooks have written, before there is a record. It knows the
// secrets of what came in: that is redacted first, and kept for the record.
func (i *invocation) redactor() Redactor {
	b := i.audit()
	if _, ok := b.Redactor.(Memory); ok {
		b.Redact(i.input)
	}
	return b.Redactor
}

// NoteRedacted ends the note of a verdict that metadata was recorded with secrets
// redacted: digests of that output are of the recorded text, not of what hooks wrote.
const NoteRedacted = ": secrets are covered"

// redactNames redacts the names by which an invocation is found again. Everything that
// is filed under them (latches, metadata, leases, approvals, events) is filed under
// the redacted ones: the redaction of a name depends on the name alone, so that one
// session stays one session. What only this action knows for a secret is left in
// them: otherwise an agent could leave its latch behind by calling its session's name
// a password.
func (k *Kernel) redactNames(inv *phases.Invocation) error {
	redactor := audit.ForStored(k.options.Redactor)
	for _, n := range [...]*string{&inv.Runtime, &inv.Session, &inv.Agent, &inv.Run, &inv.User} {
		if *n == "" {
			continue
		}
		redacted, err := redactor.Text(*n)
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
