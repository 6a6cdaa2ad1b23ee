package systemtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/belay-hooks/belay/phases"
)

const (
	rowKilledHook = "kills belay-hook in the middle of a question"
	rowKilled     = "gets the daemon killed in the middle of a question"
)

// long names the variable that has the repetitions of `make demo-system` in place of those of `make test`.
const long = "BELAY_DEMO_LONG"

func rounds(short, full int) int {
	if os.Getenv(long) != "" {
		return full
	}
	return short
}

func killTries() []try {
	hooks, daemons := rounds(25, 100), rounds(4, 20)
	return []try{
		{who: alice, what: fmt.Sprintf("kills her own belay-hook %d times, at random moments", hooks),
			holds: "no event is lost or doubled, none is latched", row: rowKilledHook,
			do: func(s *stage) outcome { return s.killHooks(hooks) }},
		{
			who:   alice,
			what:  "stops 40 of her belay-hooks (SIGSTOP) in the middle of a question",
			holds: "they take places of hers alone",
			row:   rowKilledHook,
			do:    func(s *stage) outcome { return s.stopHooks(40) },
		},
		{who: 0, what: fmt.Sprintf("kills the daemon %d times, while both users ask", daemons),
			holds: "what was released is in the log", row: rowKilled,
			do: func(s *stage) outcome { return s.killDaemons(daemons) }},
		{who: 0, what: "ends the daemon", holds: "it ends in time", do: func(s *stage) outcome {
			began := time.Now()
			s.stop(syscall.SIGTERM)
			took := time.Since(began)
			return outcome{
				held:     took < 5*time.Second,
				happened: "in " + took.Round(time.Millisecond).String(),
				saw:      s.log.String(),
			}
		}},
		{who: 0, what: "starts it, and verifies both logs", holds: "both verify", do: func(s *stage) outcome {
			s.start()
			one, first := s.onState(alice, "events", "verify")
			two, second := s.onState(bob, "events", "verify")
			return outcome{held: first == 0 && second == 0, happened: "ok", saw: one + two}
		}},
	}
}

// killHooks has alice's agent ask again and again, and kills belay-hook somewhere on the way. Some answer before that.
func (s *stage) killHooks(n int) outcome {
	s.t.Helper()
	// How long one question takes says what a random moment is.
	usual := time.Minute
	for range 5 {
		began := time.Now()
		_, _ = s.verdict(alice, nil, "s-k", "ls")
		usual = min(usual, time.Since(began))
	}
	released, killed := map[string]bool{}, 0
	for i := range n {
		command := fmt.Sprintf("echo killed-%d.", i)
		cmd := s.inRoot(alice, "/usr/local/bin/belay-hook", "--runtime", "claude-code")
		var out strings.Builder
		cmd.Stdin, cmd.Stdout = strings.NewReader(call("s-k", command)), &out
		s.must(cmd.Start())
		time.Sleep(rand.N(2 * usual))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err != nil {
			killed++
		}
		released[command] = out.Len() > 0
	}
	seen := map[string]int{}
	for _, e := range s.events(alice, "session=s-k&type=verdict&limit=1000") {
		if _, rest, ok := strings.Cut(string(e.Input), "echo killed-"); ok {
			n, _, _ := strings.Cut(rest, ".")
			seen["echo killed-"+n+"."]++
		}
	}
	var wrong []string
	for command, answered := range released {
		if seen[command] > 1 || answered && seen[command] != 1 {
			wrong = append(wrong, fmt.Sprint(command, answered, seen[command]))
		}
	}
	d, r := s.verdict(alice, nil, "s-k", "ls")
	bd, br := s.verdict(bob, nil, "s-0", "ls")
	verified, code := s.onState(alice, "events", "verify")
	return outcome{held: len(wrong) == 0 && killed > 0 && d != "deny" && bd != "deny" && code == 0,
		happened: fmt.Sprintf(
			"%d died, %d events",
			killed,
			len(seen),
		), saw: fmt.Sprint(wrong, killed, d, r, bd, br, verified)}
}

// stopHooks has alice's agent ask, and stops belay-hook somewhere on the way: it neither reads nor goes.
func (s *stage) stopHooks(n int) outcome {
	s.t.Helper()
	var stopped []*exec.Cmd
	defer func() {
		for _, cmd := range stopped {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	for range n {
		cmd := s.inRoot(alice, "/usr/local/bin/belay-hook", "--runtime", "claude-code")
		cmd.Stdin = strings.NewReader(call("s-h", "ls"))
		s.must(cmd.Start())
		stopped = append(stopped, cmd)
		time.Sleep(rand.N(15 * time.Millisecond))
		_ = cmd.Process.Signal(syscall.SIGSTOP)
	}
	ok, took, saw := s.bobsTurn()
	o := passes(s.verdict(alice, nil, "s-k", "ls"))
	o.held, o.happened, o.saw = o.held && ok, fmt.Sprintf("both are served; bob waits %v", took), o.saw+saw
	return o
}

// killDaemons has both users ask without a pause, while the daemon is killed and started. What belay released has to be
// in the log afterwards, once.
func (s *stage) killDaemons(n int) outcome {
	s.t.Helper()
	asking := map[int]*background{}
	for _, uid := range []int{alice, bob} {
		asking[uid] = s.begin(uid, "/usr/local/bin/try", "steady", fmt.Sprint("steady", uid, "-", s.newest(uid).Seq), "3")
	}
	done := map[int]chan string{}
	for uid, b := range asking {
		done[uid] = make(chan string, 1)
		go func() {
			var all strings.Builder
			all.WriteString(b.first)
			_, _ = b.out.WriteTo(&all)
			done[uid] <- all.String()
		}()
	}
	for range n {
		time.Sleep(rand.N(150 * time.Millisecond))
		s.restarted()
		for _, uid := range []int{alice, bob} { // each is served again
			if d, r := s.verdict(uid, nil, "s-0", "ls"); d == "deny" {
				return outcome{happened: "blocked after a start", saw: r + s.log.String()}
			}
		}
	}
	var released, missing int
	var wrong []string
	for uid, b := range asking {
		_ = b.stdin.Close()
		ids := map[string]bool{}
		for _, l := range strings.Split(<-done[uid], "\n") {
			if f := strings.Fields(l); len(f) == 4 && f[0] == "echo" {
				ids[f[2]] = true
			}
		}
		_ = b.cmd.Wait()
		released += len(ids)
		seen := s.verdictsOf(uid)
		for id := range ids {
			if seen[id] != 1 {
				missing++
				wrong = append(wrong, fmt.Sprint(uid, " ", id, " ", seen[id]))
			}
		}
		if out, code := s.onState(uid, "events", "verify"); code != 0 {
			wrong = append(wrong, out)
		}
	}
	return outcome{
		held:     len(wrong) == 0 && released > 10*n,
		happened: fmt.Sprintf("%d released, %d missing", released, missing),
		saw:      fmt.Sprint(wrong),
	}
}

// verdictsOf counts the events of type verdict by their invocation.
func (s *stage) verdictsOf(uid int) map[string]int {
	seen := map[string]int{}
	for after := int64(0); ; {
		events := s.events(uid, fmt.Sprintf("type=%s&runtime=custom&limit=1000&after=%d", phases.EventVerdict, after))
		if len(events) == 0 {
			return seen
		}
		for _, e := range events {
			seen[e.Invocation]++
			after = e.Seq
		}
	}
}
