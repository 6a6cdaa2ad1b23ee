package queue_test

import (
	"time"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"

	"github.com/go-json-experiment/json/jsontext"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 123, time.UTC)

func item() approvals.Item {
	return approvals.Item{
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", Kind: approvals.KindAsk, Key: "hmac-sha256:1", State: approvals.Pending,
		By: approvals.Requester{Credential: "uid 1", Runtime: "r", Session: "s", Agent: "a"}, Created: t0,
		Expires:    t0.Add(time.Minute),
		Invocation: "i", Phase: phases.PreTool, Tool: "exec", Action: jsontext.Value(`{"a":1}`),
		Before: jsontext.Value(`{"a":2}`), Scopes: &phases.Scopes{FSRead: []string{"*"}},
		Reason: "why", Hooks: []approvals.Asking{{Hook: "h", Digest: "d", Reason: "r"}}, Details: jsontext.Value(`{}`),
		Notes: []string{"n"}, Clock: leases.Stamp{Boot: "b", Since: 1},
	}
}

// wall is a moment on a host without a boot clock.
func wall(t time.Time) leases.Instant { return leases.Instant{Wall: t} }
