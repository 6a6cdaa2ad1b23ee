package fleettest

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// promised is how soon what happens on one kernel holds on all.
const promised = 2 * time.Second

// noticeTries are what one kernel does and another one waits for: with notices of PostgreSQL, and by looking alone.
func noticeTries() []try {
	out := append(hearTries("told"), cutTries("ALTER TABLE changes DISABLE TRIGGER tell",
		"ALTER TABLE denials DISABLE TRIGGER tell"))
	out = append(out, hearTries("untold")...)
	return append(out, cutTries("ALTER TABLE changes ENABLE TRIGGER tell", "ALTER TABLE denials ENABLE TRIGGER tell"))
}

func cutTries(statements ...string) try {
	what := "has PostgreSQL notify no kernel"
	if last := statements[len(statements)-1]; last == "ALTER TABLE denials ENABLE TRIGGER tell" {
		what = "has PostgreSQL notify kernels again"
	}
	return try{"op", what, "each looks by itself, once a second", func(s *stage) outcome {
		s.sql(statements...)
		return outcome{held: true, happened: "done"}
	}}
}

// hearTries are made with a, whose log is in PostgreSQL, and with c, whose log is its own.
func hearTries(how string) (out []try) {
	for _, name := range []string{"a", "c"} {
		of := func(s *stage) *member {
			if name == "a" {
				return s.a
			}
			return s.c
		}
		out = append(out,
			try{name, "waits for an answer that b gets from carol", "2 s, by notice or by polling", func(s *stage) outcome {
				return s.answered(of(s), "s-waits-"+how+"-"+name)
			}},
			try{name, "claims a lease that b revokes", "a claim is decided by the database", func(s *stage) outcome {
				return s.leaseRevoked(of(s), "s-lent-"+how+"-"+name)
			}})
	}
	return out
}

// soon says how long after something another kernel went by it.
func soon(what string, took time.Duration, saw string) outcome {
	return outcome{held: took <= promised, happened: fmt.Sprintf("%s after %d ms", what, took.Milliseconds()),
		saw: fmt.Sprintf("%v after %v", saw, took)}
}

// answered has a caller of one kernel wait for a person, who answers on another one.
func (s *stage) answered(k *member, session string) outcome {
	question := runsCommand(session, deletes)
	v := k.ask(question)
	if v.Approval == nil {
		return outcome{happened: "no person is asked", saw: fmt.Sprint(v)}
	}
	type wait struct {
		item approvals.Item
		err  error
		at   time.Time
	}
	waited := make(chan wait, 1)
	go func() {
		it, err := k.client.Approval(s.ctx(), v.Approval.ID, time.Minute)
		waited <- wait{it, err, time.Now()}
	}()
	time.Sleep(100 * time.Millisecond) // it waits
	if o := s.carol.decide(s, s.b, v.Approval.ID); !o.held {
		return o
	}
	answered := time.Now()
	w := <-waited
	if w.err != nil || w.item.State != approvals.Approved {
		return outcome{happened: "it is not told", saw: fmt.Sprint(w.item.State, w.err)}
	}
	if o := decided(k.ask(question), phases.Allow, ""); !o.held {
		return o
	}
	return soon("it goes on", w.at.Sub(answered), string(w.item.State))
}

// leaseRevoked has a lease of one kernel revoked by a command on another one.
func (s *stage) leaseRevoked(k *member, session string) outcome {
	id := session + "/x"
	m, err := k.client.MintLease(s.ctx(), client.LeaseMint{
		Request: leases.Request{ID: id, Capability: "tool:notebook", Scope: &leases.Scope{}, TTLS: 600, MaxUses: 1000},
		Holder:  &leases.Holder{Runtime: "custom", Session: session, Agent: "coder"}})
	if err == nil && m.Approval != "" {
		if o := s.carol.decide(s, k, m.Approval); !o.held {
			return o
		}
		m, err = k.client.MintLease(s.ctx(), client.LeaseMint{Approval: m.Approval})
	}
	if err != nil || m.Lease == nil {
		return outcome{happened: "no lease", saw: fmt.Sprint(m, err)}
	}
	if o := decided(k.ask(writesNotebook(session)), phases.Allow, ""); !o.held {
		return o
	}
	if out, code := s.b.belay("lease", "revoke", id); code != 0 {
		return outcome{happened: short(out, 34), saw: fmt.Sprintf("exit %d: %s", code, out)}
	}
	revoked := time.Now()
	for {
		asked := time.Now()
		v := k.ask(writesNotebook(session))
		if o := decided(v, phases.Block, "needs a lease"); o.held {
			return soon("blocked", time.Since(revoked), v.Reason)
		}
		if asked.Sub(revoked) > promised {
			return outcome{happened: "it is claimed", saw: fmt.Sprintf("%s %s %v later", v.Decision, v.Reason,
				asked.Sub(revoked))}
		}
	}
}
