package kernel_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// forger is a store in the hands of a forger who has the keys of the state directory, too:
// every question is stored as edit says, and the log, the tree and the seal agree.
type forger struct {
	kernel.Store
	keys audit.Keys
	edit func(*approvals.Item)
}

func (f *forger) Commit(ctx context.Context, b kernel.Batch) (kernel.Receipt, error) {
	for n := range b.Approvals {
		if b.Approvals[n].Create == nil {
			continue
		}
		it := b.Approvals[n].Create.Clone()
		f.edit(&it)
		b.Approvals[n].Create = &it
		for e := range b.Events {
			var out map[string]any
			if b.Events[e].Decision != "requested" || json.Unmarshal(b.Events[e].Output, &out) != nil ||
				out["approval"] != it.ID {
				continue
			}
			content, err := it.Content()
			if err != nil {
				return kernel.Receipt{}, err
			}
			out["content"], out["seal"], out["credential"] = content, f.keys.Digest(audit.UseApprovalItem, []byte(content)),
				it.By.Credential
			if b.Events[e].Output, err = json.Marshal(out); err != nil {
				return kernel.Receipt{}, err
			}
		}
	}
	return f.Store.Commit(ctx, b)
}

func forged(edit func(*approvals.Item)) change {
	return func(_ *kernel.Config, o *kernel.Options) {
		keys := audit.Keys{}
		for _, u := range audit.Uses() {
			keys[u] = bytes.Repeat([]byte(u)[:1], 32)
		}
		o.Digester = keys
		o.Store = &forger{memory.New(), keys, edit}
	}
}

func forcedPush() phases.Invocation {
	inv := invocation(phases.PreTool)
	inv.Action = jsontext.Value(`{"tool":"exec","args":{"command":"git push --force"}}`)
	return inv
}

// A reviewer who was shown something else has approved something else, also when the attacker
// who changed the item holds the database, the log and the keys.
func TestSignedForSomethingElseDoesNotPass(t *testing.T) {
	for name, edit := range map[string]func(*approvals.Item){
		"action": func(it *approvals.Item) {
			it.Action = jsontext.Value(`{"tool":"exec","args":{"command":"git push origin docs-typo"}}`)
		},
		"before":    func(it *approvals.Item) { it.Before = jsontext.Value(`{"tool":"exec","args":{"command":"rm -rf /"}}`) },
		"reason":    func(it *approvals.Item) { it.Reason = "harmless" },
		"tool":      func(it *approvals.Item) { it.Tool = "read" },
		"phase":     func(it *approvals.Item) { it.Phase = phases.PostTool },
		"scopes":    func(it *approvals.Item) { it.Scopes = &phases.Scopes{FSRead: []string{"/docs/**"}} },
		"no scopes": func(it *approvals.Item) { it.Scopes = nil },
		"agent":     func(it *approvals.Item) { it.By.Agent = "somebody-else" },
		"hook":      func(it *approvals.Item) { it.Hooks[0].Hook = "other" },
		"hook says": func(it *approvals.Item) { it.Hooks[0].Reason = "harmless" },
		"no hook":   func(it *approvals.Item) { it.Hooks = nil },
		"note":      func(it *approvals.Item) { it.Notes = append(it.Notes, "checked by security") },
		"details":   func(it *approvals.Item) { it.Details = jsontext.Value(`{"x":1}`) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, asking(), reviewed, forged(edit))
			id := h.pending(t, forcedPush())
			if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
				t.Fatalf("what is shown can be decided: %v", err)
			}
			v := h.fails(t, forcedPush(), phases.KindStore)
			if !strings.Contains(v.Reason, "what was approved is not what would run") {
				t.Errorf("reason %q", v.Reason)
			}
			if got := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "unsound"}); len(got) != 1 ||
				!strings.Contains(string(got[0].Output), id) {
				t.Errorf("logged: %+v", got)
			}
			if got := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "consumed"}); len(got) != 0 {
				t.Errorf("used up: %+v", got)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		h := newHost(t, asking(), reviewed, forged(func(*approvals.Item) {}))
		if err := h.decide(t, h.pending(t, forcedPush()), approvals.Approve, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
		if v := h.invoke(t, forcedPush()); v.Decision != phases.Allow {
			t.Errorf("%s %s", v.Decision, v.Reason)
		}
	})
}

// With a changed action, secrets in it, and an audit hook that redacts more, the kernel still
// makes the signed content anew to the letter.
func TestShownIsMadeAnew(t *testing.T) {
	hooks := append([]hook{{name: "writes", caps: []string{"rewrite:/args"}, mutates: preTool,
		run: effects(rewrite("/args/command", `"git push SECRET here"`))}}, asking()...)
	hooks = append(hooks, hook{name: "covers", phases: []phases.Phase{phases.Audit}, caps: []string{"redact"},
		run: effects(phases.Effect{Kind: phases.EffectRedact, Path: "/data/hooks/1/reason", Text: "x"})})
	h := newHost(t, hooks, reviewed)
	inv := forcedPush()
	inv.Metadata = map[string]jsontext.Value{"n": jsontext.Value(`"SECRET"`)}
	id := h.pending(t, inv)
	it, err := h.Approval(t.Context(), id)
	if err != nil || it.Before == nil || strings.Contains(it.Reason, "pushes") || it.Reason != it.Hooks[0].Reason {
		t.Fatalf("%+v, %v", it, err)
	}
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	inv.Metadata = nil
	if v := h.invoke(t, inv); v.Decision != phases.Allow {
		t.Errorf("%s %s", v.Decision, v.Reason)
	}
}
