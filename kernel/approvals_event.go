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
func (k *Kernel) approvalEvent(item *approvals.Item, what string, at time.Time, revision string) phases.Event {
	event := phases.Event{
		ID: k.options.NewID(at), Type: phases.EventApproval, Time: at, Invocation: item.Invocation, Phase: item.Phase,
		Runtime: item.By.Runtime,
		Session: item.By.Session, Agent: item.By.Agent, Tool: item.Tool, PolicyRevision: revision, Decision: what,
		Reason: item.Reason,
	}
	if len(item.Hooks) > 0 {
		event.Binding, event.HookDigest = item.Hooks[0].Hook, item.Hooks[0].Digest
	}
	if d := item.Decision; d != nil && what != "refused" {
		event.DecidedBy, event.Reason, event.Signer = d.By, d.Reason, d.Key
	}
	out := approvalRecord{Approval: item.ID, Kind: item.Kind, Key: item.Key, By: item.By.Credential, Expires: item.Expires}
	for _, h := range item.Hooks {
		out.Hooks = append(out.Hooks, h.Hook)
	}
	if content, err := item.Content(); err == nil {
		out.Content = content
		switch what {
		case "requested":
			event.ID = requestedID(item.ID)
			out.Seal, _ = k.sealItem(content, nil)
		case string(approvals.Approved), string(approvals.Denied):
			event.ID = decidedID(item.ID)
			out.Seal, _ = k.sealItem(content, item.Decision) // it cannot fail: texts, times and bytes
		}
	}
	event.Output, _ = json.Marshal(&out) // texts and times: it cannot fail
	return event
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
