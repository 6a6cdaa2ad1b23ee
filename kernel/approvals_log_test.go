package kernel_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// bent is a store in the hands of an attacker who has the keys of the state directory and
// can write rows, but not the tree of the log: items and leaves are read as it says.
type bent struct {
	kernel.Store
	item func(*approvals.Item)
	leaf func(*kernel.LogLeaf)
	rows func(wire.Query, []phases.Event) []phases.Event
}

func (b *bent) Approval(ctx context.Context, id string) (*approvals.Item, error) {
	it, err := b.Store.Approval(ctx, id)
	if it != nil && b.item != nil {
		b.item(it)
	}
	return it, err
}

func (b *bent) LogLeaves(ctx context.Context, after int64, limit int) ([]kernel.LogLeaf, error) {
	list, err := b.Store.LogLeaves(ctx, after, limit)
	for n := range list {
		if b.leaf != nil {
			list[n].Body = bytes.Clone(list[n].Body)
			b.leaf(&list[n])
		}
	}
	return list, err
}

func (b *bent) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	list, err := b.Store.Events(ctx, q)
	if b.rows != nil {
		list = b.rows(q, list)
	}
	return list, err
}

// A row of the log vouches for an item only as the leaf of the tree that its number says:
// an attacker who writes rows, and holds the keys for their seals, has nothing shown or signed.
func TestOnlyTheTreeVouches(t *testing.T) {
	keys := audit.Keys{}
	for _, u := range audit.Uses() {
		keys[u] = bytes.Repeat([]byte(u)[:1], 32)
	}
	edit := func(it *approvals.Item) {
		it.Action = jsontext.Value(`{"tool":"exec","args":{"command":"git push origin docs-typo"}}`)
	}
	for name, bend := range map[string]func(t *testing.T, b *bent, it approvals.Item){
		"a leaf is another one": func(t *testing.T, b *bent, it approvals.Item) {
			edit(&it)
			content, err := it.Content()
			if err != nil {
				t.Fatal(err)
			}
			b.item = edit
			b.leaf = func(l *kernel.LogLeaf) {
				var e phases.Event
				var out map[string]any
				if json.Unmarshal(l.Body, &e) != nil || e.Decision != "requested" || json.Unmarshal(e.Output, &out) != nil {
					return
				}
				out["content"], out["seal"] = content, keys.Digest(audit.UseApprovalItem, []byte(content))
				e.Output, _ = json.Marshal(out)
				l.Body, _ = json.Marshal(&e)
			}
		},
		"a leaf's copies are not it": func(_ *testing.T, b *bent, _ approvals.Item) {
			b.leaf = func(l *kernel.LogLeaf) { l.Copies = false }
		},
		"a leaf has another number": func(_ *testing.T, b *bent, _ approvals.Item) {
			b.leaf = func(l *kernel.LogLeaf) { l.Seq++ }
		},
		"a leaf is no event": func(_ *testing.T, b *bent, _ approvals.Item) {
			b.leaf = func(l *kernel.LogLeaf) { l.Body = []byte("{") }
		},
		"a row points to another leaf": pointsElsewhere,
		"there is no leaf": func(_ *testing.T, b *bent, _ approvals.Item) {
			b.rows = func(q wire.Query, list []phases.Event) []phases.Event {
				for n := range list {
					list[n].Seq += 1000
				}
				return list
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bent{Store: memory.New()}
			h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store, o.Digester = b, keys })
			id := h.pending(t, forcedPush())
			it, err := h.Approval(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			bend(t, b, it)
			if it, err := h.Approval(t.Context(), id); !errors.Is(err, approvals.ErrUnsound) {
				t.Errorf("it is shown: %s, %v", it.Action, err)
			}
			d, err := approvals.Draft(&it, approvals.Approve, "dev", "because", h.clock.Now(), queue.DefaultTimeout)
			if err == nil {
				err = approvals.Sign(&it, &d, reviewerKey(1))
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.DecideApproval(t.Context(), id, d); !errors.Is(err, approvals.ErrUnsound) {
				t.Errorf("it is decided: %v", err)
			}
		})
	}
}

// pointsElsewhere has the row by which the event of a question is found lead to another
// event about the same item, which says the same of it.
func pointsElsewhere(t *testing.T, b *bent, it approvals.Item) {
	list, err := b.Store.Events(t.Context(), wire.Query{Type: phases.EventApproval})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	twin := list[0]
	twin.ID = "ffffffff-ac96-774b-bcce-b302099a8057"
	if _, err := b.Store.Commit(t.Context(), kernel.Batch{Now: twin.Time, Events: []phases.Event{twin}}); err != nil {
		t.Fatal(err)
	}
	twins, err := b.Store.Events(t.Context(), wire.Query{ID: twin.ID})
	if err != nil || len(twins) != 1 {
		t.Fatalf("%+v, %v", twins, err)
	}
	b.rows = func(q wire.Query, found []phases.Event) []phases.Event {
		if q.ID == list[0].ID {
			return twins
		}
		return found
	}
}

// A denial answers for a person only while a reviewer's signature is under it: the agent
// is not told that a person has denied what none of today's reviewers has.
func TestDenialOfAReviewerWhoIsGone(t *testing.T) {
	for name, reviewers := range map[string][]approvals.Reviewer{
		"another key": {{Name: "dev", Key: reviewerKey(2).Public().(ed25519.PublicKey)}}, "none": nil,
	} {
		gone := func(t *testing.T, h *host) {
			t.Helper()
			cfg := configOf(h.loader.hooks)
			cfg.Reviewers = reviewers
			if err := h.Reload(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		}
		t.Run("ask/"+name, func(t *testing.T) {
			h := newHost(t, asking(), reviewed)
			if err := h.decide(t, h.pending(t, forcedPush()), approvals.Deny, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			if v := h.invoke(t, forcedPush()); v.Decision != phases.Block || !strings.Contains(v.Reason, "denied by dev") {
				t.Fatalf("%s %s", v.Decision, v.Reason)
			}
			gone(t, h)
			if v := h.fails(t, forcedPush(), phases.KindStore); strings.Contains(v.Reason, "denied by") {
				t.Errorf("reason %q", v.Reason)
			}
			if got := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "unsound"}); len(got) != 1 {
				t.Errorf("logged: %+v", got)
			}
		})
		t.Run("lease/"+name, func(t *testing.T) {
			s := &script{}
			h := newHost(t,
				[]hook{{name: "borrows", imports: []string{"request_lease"}, caps: []string{"request_lease"}, run: s.run}},
				reviewed)
			s.say(`request {"reason":"why","capability":"tool:write","scope":{"paths":["/srv/**"]},"ttl_s":60}`)
			h.allowed(t, invocation(phases.PreTool))
			waiting, err := h.Approvals(t.Context(), approvals.Query{})
			if err != nil || len(waiting) != 1 {
				t.Fatalf("%+v, %v", waiting, err)
			}
			if err := h.decide(t, waiting[0].ID, approvals.Deny, reviewerKey(1)); err != nil {
				t.Fatal(err)
			}
			h.allowed(t, invocation(phases.PreTool))
			if !strings.Contains(s.last(), "a person has denied it") {
				t.Fatal(s.last())
			}
			gone(t, h)
			h.fails(t, invocation(phases.PreTool), phases.KindStore)
			if strings.Contains(s.last(), "a person has denied it") {
				t.Error(s.last())
			}
		})
	}
}

// TestAnotherItemWhenReadAnew: an item that does not match the log is read anew, since it may have changed
// meanwhile. What the store answers with then counts only as the same item, undamaged.
func TestAnotherItemWhenReadAnew(t *testing.T) {
	for name, bend := range map[string]func(it *approvals.Item, other *approvals.Item){
		"another item":  func(it, other *approvals.Item) { *it = *other },
		"a damaged row": func(it, _ *approvals.Item) { it.Damaged, it.State = true, approvals.Approved },
		"the same":      func(it, _ *approvals.Item) { it.Key += "x" },
	} {
		t.Run(name, func(t *testing.T) {
			b := &bent{Store: memory.New()}
			h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store = b })
			id := h.pending(t, forcedPush())
			inv := invocation(phases.PreTool)
			inv.Session = "s-2"
			other, err := h.Approval(t.Context(), h.pending(t, inv))
			if err != nil {
				t.Fatal(err)
			}
			reads := 0
			b.item = func(it *approvals.Item) {
				if reads++; reads == 1 {
					it.Key += "x" // not the key of the question
					return
				}
				bend(it, &other)
			}
			it, err := h.Approval(t.Context(), id)
			if !errors.Is(err, approvals.ErrUnsound) || errors.Is(err, kernel.ErrConflict) {
				t.Errorf("after %d reads: %+v, %v", reads, it, err)
			}
			list := h.events(t, wire.Query{Decision: "unsound"})
			if len(list) != 1 || !strings.Contains(list[0].Reason, "stored as pending") ||
				!strings.Contains(string(list[0].Output), id) {
				t.Errorf("logged: %+v", list)
			}
		})
	}
}

// An approval without the event of its decision lets nothing pass, though its row is as it was sealed.
func TestApprovalWhoseDecisionIsNotInTheLog(t *testing.T) {
	b := &bent{Store: memory.New()}
	h := newHost(t, asking(), reviewed, func(_ *kernel.Config, o *kernel.Options) { o.Store = b })
	id := h.pending(t, forcedPush())
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	b.rows = func(_ wire.Query, list []phases.Event) []phases.Event {
		return slices.DeleteFunc(slices.Clone(list), func(e phases.Event) bool {
			return e.Type == phases.EventApproval && e.Decision == string(approvals.Approve)
		})
	}
	if it, err := h.Approval(t.Context(), id); err == nil && it.Decision != nil {
		t.Errorf("shown as decided: %+v", it)
	}
	if v, _ := h.Invoke(t.Context(), forcedPush()); v.Decision == phases.Allow {
		t.Errorf("%+v", v)
	}
}
