package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/hostcalls"
)

// planFailures makes calls fail, one at a time and then all of a name.
func (f *fuzzer) planFailures(entry *entry) {
	type failure struct {
		list []hostcalls.Injected
		how  string
	}
	var list []failure
	all := map[string][]int{}
	for _, s := range entry.res.turns[0].sites {
		for _, errno := range s.call.Failures() {
			list = append(list,
				failure{[]hostcalls.Injected{{Call: s.n, Errno: errno}}, fmt.Sprintf("%s answers %q", s.call.Name, errno.String())})
		}
		// The operator's configuration does not become longer during a turn.
		if s.call.CanBeLong() &&
			(s.call.Name == "state_get" || s.call.Capability == "" && !strings.HasPrefix(s.call.Name, "config_")) {
			list = append(list,
				failure{[]hostcalls.Injected{{Call: s.n, Long: true}}, s.call.Name + " answers more than its buffer holds"})
		}
		if len(s.call.Failures()) > 0 {
			all[s.call.Name] = append(all[s.call.Name], s.n)
		}
	}
	for len(list) > maxInjected { // any of them, so that late calls have their turn
		i := f.rng.IntN(len(list))
		list = slices.Delete(list, i, i+1)
	}
	for _, x := range list {
		f.add(f.injected(entry, x.list, x.how))
	}
	for _, s := range entry.res.turns[0].sites {
		if calls := all[s.call.Name]; len(calls) > 1 {
			delete(all, s.call.Name)
			var every []hostcalls.Injected
			for _, n := range calls {
				every = append(every, hostcalls.Injected{Call: n, Errno: s.call.Failures()[0]})
			}
			f.add(f.injected(entry, every, fmt.Sprintf("every %s answers %q", s.call.Name, s.call.Failures()[0].String())))
		}
	}
}

// injected makes calls fail.
func (f *fuzzer) injected(e *entry, list []hostcalls.Injected, how string) *job {
	fail := func(p *plan) { p.inject = list }
	return &job{make: changed(e.plan, fail), look: func(_ *plan, res *result) error {
		if weaker(e.res, res) {
			f.report(verdictOn{ClassFailOpen, fmt.Sprintf("%s|%s|%s", ClassFailOpen, e.plan.inv.Phase, how),
				outcomes(e.res, res) + " when " + how}, how,
				&repro{base: e.plan, holds: weaker, vary: func(base *plan, _ int) *plan { return base.with(fail) }})
		}
		return nil
	}}
}
