package kernel

import (
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// audit returns the builder of the invocation's record.
func (i *invocation) audit() *audit.Builder {
	if i.secrets == nil {
		i.secrets = i.k.o.Redactor
		if r, ok := i.k.o.Redactor.(Remembering); ok {
			i.secrets = r.Remember()
		}
	}
	return &audit.Builder{Redactor: i.secrets, Digester: i.k.o.Digester}
}

// secretName refuses a turn that would use a secret as the name of metadata or of
// state. Values are covered where they are stored; a name that was covered would
// be another name, and the hook could not find again what it has written.
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
	for _, name := range names {
		switch covered, err := i.redactor().Text(name); {
		case err != nil:
			return phases.NewFault(phases.KindAudit, "the names that a hook wrote could not be redacted", err)
		case covered != name:
			return phases.NewFault(phases.KindOutput, "the hook used a secret as a name of metadata or state", nil)
		}
	}
	return nil
}

// redactor covers what hooks have written, before there is a record. It knows the
// secrets of what came in: that is covered first, and kept for the record.
func (i *invocation) redactor() Redactor {
	b := i.audit()
	if _, ok := b.Redactor.(Memory); ok {
		b.Cover(i.input)
	}
	return b.Redactor
}

// NoteCovered ends the note of a verdict that metadata went on record with secrets
// covered: digests of that output are of what is on record, not of what hooks wrote.
const NoteCovered = ": secrets are covered"
