package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

// Injection makes a hostcall of the case's own invocation fail that would not: the case is
// about the hook's answer to that. Findings of belay fuzz hold such calls, and a case about
// a recording takes them over.
type Injection struct {
	Call   string `json:"call"`
	Number int    `json:"number,omitzero"` // the n-th call of that name in a turn, from 1; 0 means each
	// denied, invalid, budget, too_large, pending or unavailable, as far as the call can fail like that
	Errno string `json:"errno,omitzero"`
	Long  bool   `json:"long,omitzero"` // its answer is longer than the hook's buffer

	pass phases.Pass // of a recording: in turns of that pass only
}

// check returns a fault of the injection and its member; "" when there is none.
func (j *Injection) check() (member, text string) {
	call, ok := hostcalls.Lookup(j.Call)
	e := errnoOf(j.Errno)
	switch {
	case !ok:
		return "/call", fmt.Sprintf("there is no hostcall %q", j.Call)
	case j.Number < 0:
		return "/number", "counts from 1"
	case (j.Errno == "") == !j.Long:
		return "", "a call fails with errno, or is long"
	case j.Long && !call.CanBeLong():
		return "/long", "never happens: " + j.Call + " has no buffer that its answer goes into"
	case j.Long:
		return "", ""
	case e == 0:
		return "/errno", fmt.Sprintf("%q is not an errno: denied, invalid, budget, too_large, pending, unavailable", j.Errno)
	case len(call.Failures()) == 0:
		return "/errno", "never happens: what " + j.Call + " answers follows from its arguments"
	case !slices.Contains(call.Failures(), e):
		var names []string
		for _, can := range call.Failures() {
			names = append(names, errnoName(can))
		}
		return "/errno", "never happens: " + j.Call + " fails with " + strings.Join(names, ", ")
	}
	return "", ""
}

// injector makes the calls of a case fail. It is used by one goroutine.
type injector struct {
	list    []Injection
	used    []int
	written int // injections up to here were written by the author; the rest is of a recording

	pass phases.Pass    // of the turn that is running
	seen map[string]int // its calls so far, by name
}

func newInjector(list []Injection) *injector {
	return &injector{list: slices.Clone(list), used: make([]int, len(list)), written: len(list)}
}

// record adds the calls of a recorded turn that were made to fail. They are told by
// name and place among the calls of that name, so that a module that asks for
// something else in between meets them, too.
func (j *injector) record(t *recording.Turn) {
	for _, i := range t.Injected {
		if i.Call < 1 || i.Call > len(t.Calls) {
			continue // beyond the limit of a trace
		}
		one := Injection{Call: t.Calls[i.Call-1].Name, Long: i.Long, Errno: errnoName(hostcalls.Errno(i.Errno)), pass: t.Pass}
		for _, c := range t.Calls[:i.Call] {
			if c.Name == one.Call {
				one.Number++
			}
		}
		j.list, j.used = append(j.list, one), append(j.used, 0)
	}
}

// begin says that a turn begins.
func (j *injector) begin(pass phases.Pass) { j.pass, j.seen = pass, map[string]int{} }

// Inject implements hostcalls.Injector.
func (j *injector) Inject(n int, c *hostcalls.Call, a *hostcalls.Args) (hostcalls.Result, bool) {
	for i := range j.list {
		one := &j.list[i]
		if one.Call != c.Name || one.Number > 0 && one.Number != j.seen[c.Name]+1 || one.pass != "" && one.pass != j.pass {
			continue
		}
		made := hostcalls.Injections{{Call: n, Errno: errnoOf(one.Errno), Long: one.Long}}
		if res, ok := made.Inject(n, c, a); ok {
			j.used[i]++
			return res, true
		}
	}
	return hostcalls.Result{}, false
}

// unused lists the injections of the author that met no call.
func (j *injector) unused(c *Case) []Difference {
	var out []Difference
	for i := range j.list[:j.written] {
		if j.used[i] > 0 {
			continue
		}
		one := &j.list[i]
		want := "a call that is made to fail"
		if one.Number > 0 {
			want = fmt.Sprintf("call %d of that name, made to fail", one.Number)
		}
		d := Difference{What: fmt.Sprintf("injected/%d %s", i, one.Call), Want: want, Got: "no such call"}
		if c.suite != nil && c.suite.doc != nil {
			d.Line = c.suite.doc.Line(fmt.Sprintf("%s/injected/%d", c.at, i))
		}
		out = append(out, d)
	}
	return out
}
