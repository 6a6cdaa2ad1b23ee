package fleettest

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// silentB is the row of b in the table of fleet status.
var silentB = regexp.MustCompile(`(?m)^KERNEL.*
b +silent`)

// load is callers that ask kernels, and what they were answered.
type load struct {
	stop chan struct{}
	wait sync.WaitGroup

	mu       sync.Mutex
	answered map[string][]phases.Verdict // by kernel: those that an event tells of
	refused  map[string]int              // answers without an event
}

// load begins with callers for each kernel.
func (s *stage) load(callers int) *load {
	l := &load{stop: make(chan struct{}), answered: map[string][]phases.Verdict{}, refused: map[string]int{}}
	for _, k := range s.members() {
		for n := range callers {
			c := k.client // of the daemon as it is now
			l.wait.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-l.stop:
						return
					default:
					}
					question := runsCommand(fmt.Sprintf("s-load-%d", n), fmt.Sprintf("echo %s %d %d", k.name, n, i))
					v, _ := c.InvokeJSON(s.ctx(), []byte(question)) // an error is a block without an event
					l.mu.Lock()
					if v.Event != nil {
						l.answered[k.name] = append(l.answered[k.name], v)
					} else {
						l.refused[k.name]++
					}
					l.mu.Unlock()
					if v.Event == nil {
						time.Sleep(10 * time.Millisecond)
					}
				}
			})
		}
	}
	return l
}

// end ends it, and returns how many were answered with an event.
func (l *load) end() (n int) {
	close(l.stop)
	l.wait.Wait()
	for _, list := range l.answered {
		n += len(list)
	}
	return n
}

// onRecord holds when the log of each kernel has each verdict as its caller got it, and numbers without gaps.
func (s *stage) onRecord(l *load) outcome {
	verdicts := 0
	for _, k := range s.members() {
		have := map[int64]phases.Event{}
		for last := int64(0); ; {
			events, err := k.client.Events(s.ctx(), wire.Query{After: last, Limit: 2000})
			if err != nil {
				return outcome{happened: "no events of " + k.name, saw: err.Error()}
			}
			if len(events) == 0 {
				break
			}
			for _, e := range events {
				if e.Seq != last+1 {
					return outcome{happened: "a gap in the log of " + k.name, saw: fmt.Sprintf("%d follows %d", e.Seq, last)}
				}
				have[e.Seq], last = e, e.Seq
			}
		}
		for _, v := range l.answered[k.name] {
			e, ok := have[v.Event.Seq]
			if !ok || e.ID != v.Event.ID || e.Decision != string(v.Decision) {
				return outcome{happened: "an answer without its event",
					saw: fmt.Sprintf("%s: %+v, log: %d %s", k.name, *v.Event, e.Seq, e.ID)}
			}
			verdicts++
		}
	}
	return outcome{held: verdicts > 0, happened: fmt.Sprintf("%d answers, each with its event", verdicts)}
}

// verified holds when every log proves complete, by the keys that carol has from the kernels' machines.
func (s *stage) verified() outcome {
	out, code := s.verify()
	first, _, _ := strings.Cut(out, "\n")
	return outcome{held: code == 0 && strings.HasPrefix(out, "events verify: ok"), happened: first,
		saw: fmt.Sprintf("exit %d: %s", code, out)}
}

// verify is carol's look at all logs, with an auditor's login and with what she knows from before.
func (s *stage) verify() (out string, code int) {
	s.t.Helper()
	return s.a.belay("events", "verify", "--fleet", "--dsn-file", s.auditor, "--schema", s.schema, "--tls", "off",
		"--keys", s.keys, "--memory", s.root+"/fleet.memory", "--expect", "a,b,c")
}

func killTries() []try {
	var l *load
	var before int
	return []try{
		{"b", "is ended by kill -9 while 24 callers ask all kernels", "a and c go on", func(s *stage) outcome {
			l = s.load(8)
			time.Sleep(s.time(time.Second, 4*time.Second))
			s.b.kill()
			l.mu.Lock()
			before = len(l.answered["a"]) + len(l.answered["c"])
			l.mu.Unlock()
			time.Sleep(s.time(500*time.Millisecond, 2*time.Second))
			l.mu.Lock()
			after := len(l.answered["a"]) + len(l.answered["c"])
			l.mu.Unlock()
			return outcome{held: after > before, happened: fmt.Sprintf("%d answers of a and c since", after-before),
				saw: fmt.Sprint(before, after)}
		}},
		{"op", "runs belay fleet status", "b is named as silent, before the others", func(s *stage) outcome {
			return within(20*time.Second, func() outcome {
				out, code := s.a.belay("fleet", "status", "--dsn-file", s.auditor, "--schema", s.schema, "--tls", "off",
					"--silent", "2s")
				return outcome{held: code == 5 && silentB.MatchString(out), happened: fmt.Sprintf("exit %d, b is silent", code),
					saw: fmt.Sprintf("exit %d: %s", code, out)}
			})
		}},
		{"b", "is started again", "its name is free when its session ended", func(s *stage) outcome {
			l.end()
			s.b.begin()
			return s.b.serves(30 * time.Second)
		}},
		{"carol", "compares every answer with the logs",
			"an event is durable before its answer", func(s *stage) outcome { return s.onRecord(l) }},
		{"carol", "runs belay events verify --fleet", "every event is in its tree", (*stage).verified},
	}
}

// time is how long something takes in a test, and in the demo.
func (s *stage) time(test, demo time.Duration) time.Duration {
	if s.long {
		return demo
	}
	return test
}
