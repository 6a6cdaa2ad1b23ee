package fleettest

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// reviewer is a person with a key that no kernel has.
type reviewer struct {
	name string
	key  ed25519.PrivateKey
}

func newReviewer(t *testing.T, name string) reviewer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return reviewer{name, key}
}

// yaml is the reviewer's entry in belay.yaml.
func (r reviewer) yaml() string {
	return "  - {name: " + r.name + ", key: \"" + queue.FormatReviewerKey(r.key.Public().(ed25519.PublicKey)) + "\"}\n"
}

// decide approves an item by a kernel.
func (r reviewer) decide(s *stage, by *member, id string) outcome {
	item, err := by.client.Approval(s.ctx(), id, 0)
	if err != nil {
		return outcome{happened: "not in the queue of " + by.name, saw: err.Error()}
	}
	d, err := approvals.Draft(&item, approvals.Approve, r.name, "", time.Now(), 10*time.Minute)
	if err == nil {
		err = approvals.Sign(&item, &d, r.key)
	}
	if err == nil {
		item, err = by.client.Decide(s.ctx(), id, d)
	}
	return outcome{held: err == nil, happened: string(item.State), saw: fmt.Sprint(item.State, err)}
}

// waiting is the question of the demo.
type waiting struct{ id string }

// deletes is what command-guard asks a person about.
const deletes = "kubectl delete namespace blue"

func approvalTries() []try {
	const session = "s-approval"
	question := runsCommand(session, deletes)
	return []try{
		{"a", "has an agent delete a namespace", "a person is asked", func(s *stage) outcome {
			v := s.a.ask(question)
			o := decided(v, phases.Ask, "")
			if v.Approval == nil {
				o.held = false
				return o
			}
			s.approval.id = v.Approval.ID
			return o
		}},
		{"b", "gets carol's decision about it", "a queue for all kernels", func(s *stage) outcome {
			return s.carol.decide(s, s.b, s.approval.id)
		}},
		{"all", "have 48 callers do it at the same moment", "an approval passes once", func(s *stage) outcome {
			allowed, other, saw := s.rush(16, question, "")
			return outcome{held: allowed == 1 && other == 47,
				happened: fmt.Sprintf("%d passes, %d wait or are blocked", allowed, other), saw: saw}
		}},
		{"c", "is asked for the item", "the decision is the organisation's", func(s *stage) outcome {
			item, err := s.c.client.Approval(s.ctx(), s.approval.id, 0)
			return outcome{held: err == nil && item.State == approvals.Consumed, happened: string(item.State),
				saw: fmt.Sprint(item.State, err)}
		}},
	}
}
