package fleettest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// lent is the lease of the demo.
type lent struct{ approval string }

const (
	leaseID      = "s-lease/once"
	leaseSession = "s-lease"
)

func leaseTries() []try {
	return []try{
		{"a", "is asked to mint a lease for one use of notebook", "a reviewer signs it first", func(s *stage) outcome {
			m, err := s.a.client.MintLease(s.ctx(), client.LeaseMint{
				Request: leases.Request{ID: leaseID, Capability: "tool:notebook", Scope: &leases.Scope{}, TTLS: 600, MaxUses: 1},
				Holder:  &leases.Holder{Runtime: "custom", Session: leaseSession, Agent: "coder"}})
			if err != nil || m.Approval == "" {
				return outcome{happened: "no approval", saw: fmt.Sprint(m, err)}
			}
			s.lease.approval = m.Approval
			return outcome{held: true, happened: "it waits for carol"}
		}},
		{"b", "gets carol's signature for it, and a mints it", "a queue for all kernels", func(s *stage) outcome {
			if o := s.carol.decide(s, s.b, s.lease.approval); !o.held {
				return o
			}
			m, err := s.a.client.MintLease(s.ctx(), client.LeaseMint{Approval: s.lease.approval})
			return outcome{held: err == nil && m.Lease != nil && m.Lease.ID == leaseID, happened: "a lease with one use",
				saw: fmt.Sprint(m, err)}
		}},
		{"all", "have 48 callers use it at the same moment",
			"one claim, in the event's transaction", func(s *stage) outcome {
				allowed, blocked, saw := s.rush(16, writesNotebook(leaseSession), "needs a lease")
				return outcome{held: allowed == 1 && blocked == 47,
					happened: fmt.Sprintf("%d allowed, %d blocked", allowed, blocked),
					saw:      saw}
			}},
		{"c", "is asked for the lease", "leases are the organisation's", func(s *stage) outcome {
			list, err := s.c.client.Leases(s.ctx(), client.LeaseQuery{Prefix: leaseID})
			o := outcome{happened: "not there", saw: fmt.Sprint(list, err)}
			if err == nil && len(list) == 1 {
				o.happened = fmt.Sprintf("%s, %d uses left", list[0].State, list[0].UsesLeft)
				o.held = list[0].State == leases.Exhausted && list[0].UsesLeft == 0
			}
			return o
		}},
	}
}

// rush has callers of each kernel ask the same at the same moment. A block has to give the reason.
func (s *stage) rush(callers int, invocation, reason string) (allowed, blocked int64, saw string) {
	var wait sync.WaitGroup
	var yes, no atomic.Int64
	var mu sync.Mutex
	begin := make(chan struct{})
	for _, k := range s.members() {
		for range callers {
			wait.Go(func() {
				<-begin
				v := k.ask(invocation)
				switch {
				case v.Decision == phases.Allow:
					yes.Add(1)
				case decided(v, phases.Block, reason).held, decided(v, phases.Ask, "").held:
					no.Add(1)
				default:
					mu.Lock()
					saw += fmt.Sprintf("%s: %s %s; ", k.name, v.Decision, v.Reason)
					mu.Unlock()
				}
			})
		}
	}
	close(begin)
	wait.Wait()
	return yes.Load(), no.Load(), fmt.Sprintf("%d allowed, %d not; %s", yes.Load(), no.Load(), saw)
}
