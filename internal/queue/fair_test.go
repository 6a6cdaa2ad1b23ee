package queue_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// crowd is a queue of one credential, as short as its ids.
type crowd []struct {
	id string
	by approvals.Requester
}

func (c crowd) holders() (out []approvals.Holder) {
	for _, it := range c {
		i := slices.IndexFunc(out, func(h approvals.Holder) bool { return h.By == it.by })
		if i < 0 {
			i, out = len(out), append(out, approvals.Holder{By: it.by, Oldest: it.id})
		}
		out[i].Pending++
		out[i].Oldest = min(out[i].Oldest, it.id)
	}
	return out
}

func (c crowd) of(by approvals.Requester) (agent, session int) {
	for _, it := range c {
		if it.by.Session == by.Session {
			session++
			if it.by.Agent == by.Agent {
				agent++
			}
		}
	}
	return agent, session
}

// Whatever names requesters use: the queue is never longer than its limit, a
// requester without an item can file one, and an evicted item belongs to a
// requester who had more.
func TestEvicted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		sessions, agents := rapid.IntRange(1, 15).Draw(t, "sessions"), rapid.IntRange(1, 15).Draw(t, "agents")
		var c crowd
		for n := range rapid.IntRange(1, 80).Draw(t, "requests") {
			by := approvals.Requester{Credential: "uid 1",
				Session: fmt.Sprint("s", rapid.IntRange(1, sessions).Draw(t, "session")),
				Agent:   fmt.Sprint("a", rapid.IntRange(1, agents).Draw(t, "agent"))}
			own, mine := c.of(by)
			if len(c) >= limit {
				id, ok := queue.Evicted(c.holders(), by)
				if !ok {
					if own == 0 {
						t.Fatalf("%v has nothing in the queue and is turned away: %v", by, c.holders())
					}
					continue
				}
				i := slices.IndexFunc(c, func(it struct {
					id string
					by approvals.Requester
				}) bool {
					return it.id == id
				})
				if i < 0 {
					t.Fatalf("%q gives way, and is not there", id)
				}
				loser, theirs := c.of(c[i].by)
				switch {
				case c[i].by == by:
					t.Fatalf("%v pushes itself out", by)
				case c[i].by.Session == by.Session && loser <= own:
					t.Fatalf("%v with %d takes from an agent with %d", by, own, loser)
				case c[i].by.Session != by.Session && theirs <= mine:
					t.Fatalf("a session with %d takes from one with %d", mine, theirs)
				}
				for _, other := range c {
					o, s := c.of(other.by)
					worse := false
					switch {
					case other.by.Session == c[i].by.Session: // the fullest of its session, and the oldest of those
						worse = other.by != by && (o > loser || o == loser && other.id < id)
					case other.by.Session == by.Session:
					case c[i].by.Session != by.Session: // of the fullest session
						worse = s > theirs
					default: // an agent of the same session, only where no other session has more to give
						worse = s > mine+1 || own == 0 && s > mine
					}
					if worse {
						t.Fatalf("%v with %d of %d gives way to %v before %v with %d of %d", c[i].by, loser, theirs, by, other.by, o, s)
					}
				}
				c = slices.Delete(c, i, i+1)
			}
			c = append(c, struct {
				id string
				by approvals.Requester
			}{fmt.Sprintf("%04d", n), by})
		}
	})
}

// One session that invents agents gets half of what two sessions share, and the two
// do not push each other out in turn.
func TestEvictedSettles(t *testing.T) {
	const limit = 20
	var c crowd
	n := 0
	file := func(session, agent string) bool {
		n++
		by := approvals.Requester{Session: session, Agent: agent}
		if len(c) >= limit {
			id, ok := queue.Evicted(c.holders(), by)
			if !ok {
				return false
			}
			for i := range c {
				if c[i].id == id {
					c = slices.Delete(c, i, i+1)
					break
				}
			}
		}
		c = append(c, struct {
			id string
			by approvals.Requester
		}{fmt.Sprintf("%04d", n), by})
		return true
	}
	for i := range 100 {
		file("flood", fmt.Sprint("mask", i))
	}
	for range 50 {
		file("quiet", "a")
	}
	if agent, session := c.of(approvals.Requester{Session: "quiet", Agent: "a"}); agent != limit/2 || session != limit/2 {
		t.Errorf("the quiet session has %d", agent)
	}
	for i := range 100 {
		file("flood", fmt.Sprint("more", i))
	}
	if agent, _ := c.of(approvals.Requester{Session: "quiet", Agent: "a"}); agent != limit/2 {
		t.Errorf("the flood has left the quiet one %d", agent)
	}
	if file("quiet", "a") || !file("flood", "new") {
		t.Error("shares that are equal move")
	}
}
