package fleettest

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

func awayTries() []try {
	var l *load
	echo := runsCommand("s-away", "echo of the fleet")
	return []try{
		{"a, b", "are asked a harmless command while the database is stopped",
			"fail closed: no event, no permission", func(s *stage) outcome {
				l = s.load(8)
				time.Sleep(s.time(500*time.Millisecond, 2*time.Second))
				s.database("stop")
				return slowest("block", s.each(func(k *member) outcome {
					if k == s.c {
						return outcome{held: true}
					}
					return timed(func() outcome { return decided(k.ask(echo), phases.Block, "") })
				}))
			}},
		{"c", "is asked a harmless command", "its log is on its own disk", func(s *stage) outcome {
			return timed(func() outcome { return decided(s.c.ask(echo), phases.Allow, "") })
		}},
		{"c", "is asked for what takes a lease", "leases are the organisation's", func(s *stage) outcome {
			return timed(func() outcome { return decided(s.c.ask(writesNotebook(leaseSession)), phases.Block, "") })
		}},
		{"-", "the database comes back", "recovery needs no hand", func(s *stage) outcome {
			s.database("start")
			o := slowest("all answer", s.each(func(k *member) outcome {
				return within(30*time.Second, func() outcome { return decided(k.ask(echo), phases.Allow, "") })
			}))
			time.Sleep(s.time(200*time.Millisecond, time.Second))
			l.end()
			return o
		}},
		{"carol", "compares every answer with the logs",
			"nothing is lost or doubled", func(s *stage) outcome { return s.onRecord(l) }},
		{"carol", "runs belay events verify --fleet", "what c did meanwhile was forwarded", (*stage).forwarded},
	}
}

// forwarded holds once the database has all that c did while it was away, and every log proves complete.
func (s *stage) forwarded() outcome {
	events, err := s.c.client.Events(s.ctx(), wire.Query{Newest: true, Limit: 1})
	if err != nil || len(events) != 1 {
		return outcome{happened: "c shows no event", saw: fmt.Sprint(err)}
	}
	return within(20*time.Second, func() outcome {
		n := s.count("SELECT size FROM kernels WHERE name = 'c'")
		if n < events[0].Seq {
			text := fmt.Sprintf("%d of %d events", n, events[0].Seq)
			return outcome{happened: text, saw: text}
		}
		return s.verified()
	})
}
