package kernel

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// secrets is what an invocation covers the secrets of its record with.
type secrets struct {
	redactor Redactor
	primed   bool // the action's own are known
}

// audit returns the builder of the invocation's record. It covers the action
// before anything that hooks say about it.
func (i *invocation) audit() *audit.Builder {
	if i.secrets.redactor == nil {
		i.secrets.redactor = i.k.o.Redactor
		if r, ok := i.k.o.Redactor.(Remembering); ok {
			i.secrets.redactor = r.Remember()
		} else {
			i.secrets.primed = true // it keeps nothing in mind
		}
	}
	return &audit.Builder{Redactor: i.secrets.redactor, Digester: i.k.o.Digester}
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

// redactor covers what hooks have written, before there is a record: it looks
// for the secrets of the action first.
func (i *invocation) redactor() Redactor {
	r := i.audit().Redactor
	if !i.secrets.primed {
		i.secrets.primed = true
		raw, err := json.Marshal(struct {
			Action   jsontext.Value            `json:"action"`
			Metadata map[string]jsontext.Value `json:"metadata,omitzero"`
		}{i.inv.Action, i.inv.Metadata})
		if err == nil {
			_, _, _ = r.JSON(raw) // it is covered again, and a failure found, where it is stored
		}
	}
	return r
}
