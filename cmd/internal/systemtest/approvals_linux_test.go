package systemtest

import (
	"strings"

	"github.com/belay-hooks/belay/cmd/internal/signing"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// replayed is a reviewer's decision about a question of alice's.
type replayed struct {
	item     approvals.Item
	decision string
}

const rowReplay = "replays another's approval, lease token or statement, or uses one twice"

func approvalTries() []try {
	const named = "a signature of the user's reviewer"
	return []try{
		{
			who:   alice,
			what:  "asks for what takes a person, and is told to wait",
			holds: "nothing passes before a person says so",
			do: func(s *stage) outcome {
				o := waits(s.asksToDelete(alice, "s-a", "blue"))
				s.approved.item = s.pending(alice)
				s.approved.decision = s.carol.approve(s, s.approved.item)
				return o
			},
		},
		{who: alice, what: "approves her own question, without a signature", holds: named, do: func(s *stage) outcome {
			return status2(s.decide(alice, s.approved.item.ID, s.carol.unsigned(s, s.approved.item)))(403)
		}},
		{who: alice, what: "signs in carol's name with a key of her own", holds: named, do: func(s *stage) outcome {
			return status2(s.decide(alice, s.approved.item.ID, newReviewer(s.t, "carol").approve(s, s.approved.item)))(403)
		}},
		{
			who:   alice,
			what:  "brings the signature of bob's reviewer for her own question",
			holds: "system.yaml names carol for alice",
			do: func(s *stage) outcome {
				return status2(s.decide(alice, s.approved.item.ID, s.dave.approve(s, s.approved.item)))(403)
			},
		},
		{who: alice, what: "runs `belay approvals approve`", holds: "a passphrase, at a terminal", quiet: byCommand,
			do: func(s *stage) outcome {
				key, _, err := signing.GenerateEd25519([]byte("a passphrase of carol's"))
				s.must(err)
				s.files(alice, map[string]string{"home/alice/carol.key": string(key)})
				o := refused("no terminal", "approvals", "approve", s.approved.item.ID, "--key", "/home/alice/carol.key")(s)
				o.happened = "exit 1: no terminal"
				return o
			}},
		{
			who:   bob,
			what:  "looks at alice's question by its id",
			holds: "each uid has a queue of its own",
			route: "GET /v1/approvals/{id}",
			do: func(s *stage) outcome {
				return status2(s.http(bob, "GET", "/v1/approvals/"+s.approved.item.ID, ""))(404)
			},
		},
		{
			who:   bob,
			what:  "hands carol's decision for alice in, by its id",
			holds: "each uid has a queue of its own",
			row:   rowReplay,
			route: "POST /v1/approvals/{id}/decide",
			do: func(s *stage) outcome {
				return status2(s.decide(bob, s.approved.item.ID, s.approved.decision))(404)
			},
		},
		{who: bob, what: "asks the same, and hands that decision in for it", holds: "the signature is for one item",
			row: rowReplay, do: func(s *stage) outcome {
				if o := waits(s.asksToDelete(bob, "s-a", "blue")); !o.held {
					return o
				}
				code, saw := s.decide(bob, s.pending(bob).ID, s.approved.decision)
				if d, r := s.asksToDelete(bob, "s-a", "blue"); d != "deny" {
					return outcome{happened: "it passes", saw: d + r + saw}
				}
				return status(code, saw, 403, 409)
			}},
		{
			who:   bob,
			what:  "has alice's reviewer sign for bob's question",
			holds: "system.yaml names dave for bob",
			do: func(s *stage) outcome {
				return status2(s.decide(bob, s.pending(bob).ID, s.carol.approve(s, s.pending(bob))))(403)
			},
		},
		{who: alice, what: "hands the decision in that carol signed for it", holds: "it counts: carol may decide for alice",
			do: func(s *stage) outcome {
				return status2(s.decide(alice, s.approved.item.ID, s.approved.decision))(200)
			}},
		{
			who:   alice,
			what:  "asks again, with another target",
			holds: "an approval is for exactly one action",
			do: func(s *stage) outcome {
				return waits(s.asksToDelete(alice, "s-a", "green"))
			},
		},
		{
			who:   alice,
			what:  "hands the signature for the one question in for the other",
			holds: "the signature covers the whole item",
			row:   rowReplay,
			do: func(s *stage) outcome {
				return status2(s.decide(alice, s.pending(alice).ID, s.approved.decision))(403, 409)
			},
		},
		{who: alice, what: "asks again, and does it", holds: "approved by carol", do: func(s *stage) outcome {
			return passes(s.asksToDelete(alice, "s-a", "blue"))
		}},
		{who: alice, what: "does it once more", holds: "an approval passes once", row: rowReplay, do: func(s *stage) outcome {
			return waits(s.asksToDelete(alice, "s-a", "blue"))
		}},
		{
			who:   alice,
			what:  "hands the same decision in once more",
			holds: "it was used",
			row:   rowReplay,
			do: func(s *stage) outcome {
				code, saw := s.decide(alice, s.approved.item.ID, s.approved.decision)
				if d, r := s.asksToDelete(alice, "s-a", "blue"); d != "deny" {
					return outcome{happened: "it passes", saw: d + r + saw}
				}
				return status(code, saw, 409)
			},
		},
		{
			who:   alice,
			what:  "does so after the daemon was killed and started",
			holds: "uses outlive the daemon",
			row:   rowReplay,
			do: func(s *stage) outcome {
				s.restarted()
				code, saw := s.decide(alice, s.approved.item.ID, s.approved.decision)
				if d, r := s.asksToDelete(alice, "s-a", "blue"); d != "deny" {
					return outcome{happened: "it passes", saw: d + r + saw}
				}
				return status(code, saw, 409)
			},
		},
		{
			who:   alice,
			what:  "hands it in for the question that waits now",
			holds: "the signature is for one item",
			row:   rowReplay,
			do: func(s *stage) outcome {
				return status2(s.decide(alice, s.pending(alice).ID, s.approved.decision))(403, 409)
			},
		},
		{
			who:   bob,
			what:  "asks how many questions of alice's wait",
			holds: "each uid has a queue of its own",
			quiet: looks,
			do: func(s *stage) outcome {
				code, saw := s.http(bob, "GET", "/v1/approvals", "")
				o := status(code, saw, 200)
				o.held, o.happened = o.held && !strings.Contains(saw, "green") && strings.Contains(saw, "blue"), "sees bob's own"
				return o
			},
		},
	}
}

// status2 is status for a request's two results.
func status2(got int, saw string) func(want ...int) outcome {
	return func(want ...int) outcome { return status(got, saw, want...) }
}
