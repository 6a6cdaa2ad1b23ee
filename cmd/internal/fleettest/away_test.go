package fleettest

import (
	"time"

	"github.com/belay-hooks/belay/phases"
)

func awayTries() []try {
	var l *load
	echo := runsCommand("s-away", "echo of the fleet")
	return []try{
		{"all", "are asked a harmless command while the database is stopped",
			"fail closed: no event, no permission", func(s *stage) outcome {
				l = s.load(8)
				time.Sleep(s.time(500*time.Millisecond, 2*time.Second))
				s.database("stop")
				return slowest("block", s.each(func(k *member) outcome {
					return timed(func() outcome { return decided(k.ask(echo), phases.Block, "") })
				}))
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
		{"carol", "runs belay events verify --fleet", "every event is in its tree", (*stage).verified},
	}
}
