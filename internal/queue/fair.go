package queue

import (
	"github.com/belay-hooks/belay/kernel/approvals"
)

// A credential stands for everybody who can use it. When its quota is full, those
// who have little in the queue are served at the expense of those who have much:
// first among sessions, then among the agents of one session. Who has nothing in
// the queue is always served.

// session is a requester without the agent: what calls itself a session, of a runtime.
func session(r approvals.Requester) approvals.Requester {
	r.Agent = ""
	return r
}

// Evicted returns the undecided item that gives way to another item of by. holders are all
// requesters that have items of one credential and kind. ok is false when by has its share. A
// requester without any item gets a place unless there are no items. An item gives way only
// where that makes the shares more equal, or when by has none yet: two competitors do not evict
// each other in turn.
func Evicted(holders []approvals.Holder, by approvals.Requester) (id string, ok bool) {
	sum, own := map[approvals.Requester]int{}, 0
	for i := range holders {
		sum[session(holders[i].By)] += holders[i].Pending
		if holders[i].By == by {
			own = holders[i].Pending
		}
	}
	least := func(have int) int { // what another must have to give something away
		if own == 0 {
			return have + 1
		}
		return have + 2
	}
	mine := session(by)
	var full, mate *approvals.Holder // the fullest agent of the fullest session, and of this one
	for i := range holders {
		h := &holders[i]
		if s := session(h.By); s != mine && sum[s] >= least(sum[mine]) && (full == nil || sum[s] > sum[session(full.By)] ||
			s == session(full.By) && fuller(h, full) || s != session(full.By) && sum[s] == sum[session(full.By)] &&
			h.Oldest < full.Oldest) {
			full = h
		} else if s == mine && h.By != by && h.Pending >= least(own) && (mate == nil || fuller(h, mate)) {
			mate = h
		}
	}
	switch {
	case full != nil:
		return full.Oldest, true
	case mate != nil:
		return mate.Oldest, true
	}
	return "", false
}

// fuller orders agents of one session: more items, then the older one.
func fuller(a, b *approvals.Holder) bool {
	return a.Pending > b.Pending || a.Pending == b.Pending && a.Oldest < b.Oldest
}
