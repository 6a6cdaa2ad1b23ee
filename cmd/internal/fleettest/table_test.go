package fleettest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// try is one thing that is tried with the kernels of a fleet.
type try struct {
	who   string // which kernel, or person
	what  string // what is tried
	holds string // what holds, or who decides
	do    func(*stage) outcome
}

// outcome is what has come of a try.
type outcome struct {
	held     bool
	happened string // in few words
	saw      string // all that was seen, for when it did not hold
}

// group is tries of one kind, in the order in which they are made.
type group struct {
	name  string
	tries func() []try
}

// groups are all tries. Each but the last leaves the fleet as it found it: three daemons that serve, and a database.
func groups() []group {
	return []group{
		{"a hook that is signed once", hookTries},
		{"a lease that is minted once", leaseTries},
		{"an approval that is decided once", approvalTries},
		{"what others hear of", noticeTries},
		{"a kernel that is killed", killTries},
		{"a database that is away", awayTries},
		{"what does not fit", misfitTries},
		{"a hook that is revoked once", revokeTries},
	}
}

const line = "  %-6s %-9s %-62s %-36s %s\n"

// tally counts tries.
type tally struct{ made, held int }

// show makes the tries of all groups, and prints a line for each.
func (s *stage) show(groups []group) (n tally) {
	if testing.Verbose() {
		fmt.Printf(line, "", "WHO", "TRIES", "WHAT HAPPENED", "WHAT HELD")
	}
	for _, g := range groups {
		if testing.Verbose() {
			fmt.Println(g.name)
		}
		for _, t := range g.tries() {
			n.made++
			o := t.do(s)
			mark := "held"
			if o.held {
				n.held++
			} else {
				mark = "FAILED"
				s.t.Errorf("%s: %s %s: want %s, saw %s", g.name, t.who, t.what, t.holds, o.saw)
			}
			if testing.Verbose() {
				fmt.Printf(line, mark, t.who, t.what, o.happened, t.holds)
			}
		}
	}
	return n
}

// within tries until it holds or the time is over, and says how long it took.
func within(d time.Duration, f func() outcome) outcome {
	begun := time.Now()
	for {
		o := f()
		took := time.Since(begun)
		if o.held {
			o.happened = fmt.Sprintf("%s after %.1f s", o.happened, took.Seconds())
			return o
		}
		if took > d {
			o.happened = fmt.Sprintf("%s after %.1f s", o.happened, took.Seconds())
			return o
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// timed says how long something took.
func timed(f func() outcome) outcome {
	begun := time.Now()
	o := f()
	o.happened = fmt.Sprintf("%s after %.1f s", o.happened, time.Since(begun).Seconds())
	return o
}

// all holds when each of the outcomes does, and tells what was seen of those that do not.
func all(happened string, list ...outcome) outcome {
	o := outcome{held: true, happened: happened}
	for _, one := range list {
		if !one.held {
			o.held, o.happened = false, one.happened
			o.saw += one.saw + "; "
		}
	}
	return o
}

func short(text string, n int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
