package kernel

import (
	"crypto/sha256"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// approvalEvent makes the record of a step of an item. The item is redacted already.
func (k *Kernel) approvalEvent(it *approvals.Item, what string, at time.Time, revision string) phases.Event {
	e := phases.Event{
		ID: k.options.NewID(at), Type: phases.EventApproval, Time: at, Invocation: it.Invocation, Phase: it.Phase,
		Runtime: it.By.Runtime,
		Session: it.By.Session, Agent: it.By.Agent, Tool: it.Tool, PolicyRevision: revision, Decision: what,
		Reason: it.Reason,
	}
	if len(it.Hooks) > 0 {
		e.Binding, e.HookDigest = it.Hooks[0].Hook, it.Hooks[0].Digest
	}
	if d := it.Decision; d != nil && what != "refused" {
		e.DecidedBy, e.Reason, e.Signer = d.By, d.Reason, d.Key
	}
	out := approvalRecord{Approval: it.ID, Kind: it.Kind, Key: it.Key, By: it.By.Credential, Expires: it.Expires}
	for _, h := range it.Hooks {
		out.Hooks = append(out.Hooks, h.Hook)
	}
	if content, err := it.Content(); err == nil {
		out.Content = content
		switch what {
		case "requested":
			e.ID = requestedID(it.ID)
			out.Seal, _ = k.sealItem(content, nil)
		case string(approvals.Approved), string(approvals.Denied):
			e.ID = decidedID(it.ID)
			out.Seal, _ = k.sealItem(content, it.Decision) // it cannot fail: texts, times and bytes
		}
	}
	e.Output, _ = json.Marshal(&out) // texts and times: it cannot fail
	return e
}

// useID is the id of the event that records the use of an item.
func useID(item string) string { return fixedID("belay approval used", item) }

// fixedID is the id of an event that happens at most once to a thing: always the
// same, and ids of events are unique, so that there is no second one in the log. It
// has the form, and the time, of the thing's own id.
func fixedID(what, of string) string {
	sum := sha256.Sum256([]byte(what + "\x00" + of))
	u := uuid.UUID(sum[:16])
	if id, err := uuid.FromString(of); err == nil {
		copy(u[:6], id[:6])
	}
	u.SetVersion(uuid.V7)
	u.SetVariant(uuid.VariantRFC9562)
	return u.String()
}
