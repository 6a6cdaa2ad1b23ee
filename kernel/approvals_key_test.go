package kernel_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// The key of a proposal and of a lease by hand is made anew from the item's content. An item
// whose key is another one is not shown or signed, though log, tree and seal agree.
func TestKeyIsOfWhatIsShown(t *testing.T) {
	replace := func(old, now string) func(*approvals.Item) {
		return func(it *approvals.Item) {
			it.Details = jsontext.Value(strings.Replace(string(it.Details), old, now, 1))
		}
	}
	proposes := func(h *host) (string, error) {
		it, err := h.RequestApproval(t.Context(), proposal("guard"))
		return it.ID, err
	}
	lends := func(h *host) (string, error) {
		want := leases.Request{Capability: "tool:write", Scope: &leases.Scope{Paths: phases.Scope{"/srv/**"}}, TTLS: 60}
		_, err := h.MintLease(t.Context(), want, ours, "dev")
		var wait *kernel.LeasePending
		if errors.As(err, &wait) {
			return wait.Approval.ID, nil
		}
		return "", fmt.Errorf("it does not wait: %w", err)
	}
	changes := func(h *host) (string, error) {
		c := queue.ToolChange{Server: "files", Tools: []queue.ChangedTool{{Tool: "read", Change: queue.ToolChanged,
			From: "sha256:01", To: "sha256:02", Was: "reads", Now: "reads, too"}}}
		key, err := c.Key()
		if err != nil {
			return "", err
		}
		details, err := json.Marshal(&c)
		if err != nil {
			return "", err
		}
		it, err := h.RequestApproval(t.Context(), approvals.Item{Kind: approvals.KindTool, Key: key, Details: details})
		return it.ID, err
	}
	for name, c := range map[string]struct {
		file func(*host) (string, error)
		edit func(*approvals.Item)
	}{
		"tools, server":              {changes, replace("files", "other")},
		"tools, tool":                {changes, replace(`"read"`, `"list"`)},
		"tools, accepted definition": {changes, replace("sha256:02", "sha256:03")},
		"tools, more":                {changes, replace(`{"server"`, `{"checked":true,"server"`)},
		"tools, no details":          {changes, func(it *approvals.Item) { it.Details = nil }},
		"proposal, digest":           {proposes, replace(`"digest":"sha256:`, `"digest":"sha256:00`)},
		"proposal, module":           {proposes, replace(`"module":"sha256:`, `"module":"sha256:00`)},
		"proposal, name":             {proposes, replace(`"name":"guard"`, `"name":"harmless"`)},
		"proposal, capabilities":     {proposes, replace(`["block"]`, `["block","http"]`)},
		"proposal, phases":           {proposes, replace(`"pre_tool"`, `"pre_send"`)},
		"proposal, more":             {proposes, replace(`{"digest"`, `{"checked":true,"digest"`)},
		"proposal, no details":       {proposes, func(it *approvals.Item) { it.Details = nil }},
		"proposal, binding is a text": {proposes, func(it *approvals.Item) {
			it.Details = jsontext.Value(`{"digest":"x","binding":"x"}`)
		}},
		"proposal, another hook":       {proposes, func(it *approvals.Item) { it.Hooks[0].Hook = "harmless" }},
		"proposal, the hook's digest":  {proposes, func(it *approvals.Item) { it.Hooks[0].Digest += "0" }},
		"proposal, no hook":            {proposes, func(it *approvals.Item) { it.Hooks = nil }},
		"proposal, a hook more":        {proposes, func(it *approvals.Item) { it.Hooks = append(it.Hooks, it.Hooks[0]) }},
		"lease by hand, capability":    {lends, replace("tool:write", "tool:read")},
		"lease by hand, paths":         {lends, replace("/srv/**", "/tmp/**")},
		"lease by hand, time":          {lends, replace(`"ttl_s":60`, `"ttl_s":61`)},
		"lease by hand, holder":        {lends, replace(`"session":"`, `"session":"x`)},
		"lease by hand, more":          {lends, replace(`{"capability"`, `{"checked":true,"capability"`)},
		"lease by hand, credential":    {lends, func(it *approvals.Item) { it.By.Credential = "else" }},
		"lease by hand, no details":    {lends, func(it *approvals.Item) { it.Details = nil }},
		"lease by hand, no such terms": {lends, func(it *approvals.Item) { it.Details = jsontext.Value(`[]`) }},
	} {
		t.Run(name, func(t *testing.T) {
			edited := false
			h := newHost(t, nil, reviewed, forged(func(it *approvals.Item) {
				before, _ := it.Content()
				c.edit(it)
				after, _ := it.Content()
				edited = before != after
			}))
			id, err := c.file(h)
			if err != nil || !edited {
				t.Fatalf("edited: %v, %v", edited, err)
			}
			if it, err := h.Approval(t.Context(), id); !errors.Is(err, approvals.ErrUnsound) {
				t.Errorf("it is shown: %+v, %v", it, err)
			}
		})
	}
	for name, file := range map[string]func(*host) (string, error){"proposal": proposes, "lease by hand": lends,
		"tools": changes} {
		t.Run(name+", nothing", func(t *testing.T) {
			h := newHost(t, nil, reviewed, forged(func(*approvals.Item) {}))
			id, err := file(h)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Approval(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
}
