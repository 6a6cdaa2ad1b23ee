package suite

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/phases"
)

// answers is the host's side of one case: the stubs, and how often each was used. It is
// used by one goroutine.
type answers struct {
	stubs   []Stub
	used    []int
	taken   int               // stubs up to here were written by the author; the rest is of a recording
	files   stubFiles         // of path_resolve
	known   map[string]string // readlink answers of a recording, by path: the target, or "?" and a state
	unasked []Difference      // requests that no stub fits
	fail    *injector
	own     bool // the case's own invocation is running, and none that comes before
}

func newAnswers(stubs []Stub, injected []Injection) *answers {
	a := &answers{stubs: slices.Clone(stubs), used: make([]int, len(stubs)), taken: len(stubs),
		fail: newInjector(injected)}
	for i := range stubs {
		if stubs[i].Call == callPath {
			f, _ := stubs[i].files() // checked when the suite was read
			if a.files.Links == nil {
				a.files.Links = map[string]string{}
			}
			for p, t := range f.Links {
				a.files.Links[p] = t
			}
			a.files.Absent = append(a.files.Absent, f.Absent...)
		}
	}
	return a
}

// record adds the answers of a recorded turn. Each is used once, and only when no stub of
// the case fits.
func (a *answers) record(list []recording.Answer) {
	for i := range list {
		r := &list[i]
		switch {
		case r.Port == hostcalls.PortReadlink:
			if a.known == nil {
				a.known = map[string]string{}
			}
			a.known[string(r.Request.Complete())] = string(r.Reply.Complete())
			if r.Error != "" {
				a.known[string(r.Request.Complete())] = "?" + r.Error
			}
		case ported(r.Port):
			s := Stub{Call: r.Port, Request: jsontext.Value(r.Request.Complete()), Times: 1}
			if r.Reply != nil {
				s.Reply = jsontext.Value(r.Reply.Complete())
			}
			s.Errno = errnoName(hostcalls.Errno(r.Errno))
			a.stubs, a.used = append(a.stubs, s), append(a.used, 0)
		}
	}
}

// has reports whether there is a stub for the call at all.
func (a *answers) has(call string) bool {
	return slices.ContainsFunc(a.stubs, func(s Stub) bool { return s.Call == call })
}

// attach puts the stubs in place of the host's own ports. Calls without a stub are
// answered by the kernel, as in a belay that has nothing connected.
func (a *answers) attach(cfg hostcalls.SessionConfig) hostcalls.SessionConfig {
	for i := range a.stubs {
		switch s := &a.stubs[i]; s.Call {
		case callTime:
			cfg.Time, _ = s.time()
		case callRand:
			cfg.Random, _ = s.bytes()
		case callState:
			if errnoOf(s.Errno) == hostcalls.Unavailable {
				cfg.State = nil
			}
		}
	}
	stubbed := rig.Ask(func(_ context.Context, call string, _ phases.Actor,
		request jsontext.Value) (jsontext.Value, error) {
		return a.answer(call, request)
	})
	if a.has(rig.CallTool) {
		cfg.Tools = stubbed
	}
	if a.has(rig.CallHTTP) {
		cfg.HTTP = stubbed
	}
	cfg.Leases = a.leases(cfg.Leases)
	a.fail.begin(cfg.Pass)
	if a.own {
		cfg.Inject = a.fail
	}
	cfg.Tap = a
	return cfg
}

// Called implements hostcalls.Tap: it sees the use of stubs that the host itself
// answers from, and counts calls.
func (a *answers) Called(c *hostcalls.Call, args *hostcalls.Args, _ hostcalls.Result, _ []byte, _ error) {
	a.fail.seen[c.Name]++
	for i := range a.stubs {
		s := &a.stubs[i]
		switch {
		case s.Call != c.Name || ported(s.Call):
		case s.Call == callState && len(s.Request) > 0 && s.key() != string(args.In[0]):
		default:
			a.used[i]++
		}
	}
}

// answer finds the stub for a request.
func (a *answers) answer(call string, request jsontext.Value) (jsontext.Value, error) {
	for i := range a.stubs {
		s := &a.stubs[i]
		if s.Call != call || s.Times > 0 && a.used[i] >= s.Times || len(s.Request) > 0 && !subset(s.Request, request) {
			continue
		}
		a.used[i]++
		if e := errnoOf(s.Errno); e != 0 {
			return nil, &hostcalls.Refusal{Errno: e, Reply: s.Reply}
		}
		return s.Reply, nil
	}
	a.unasked = append(a.unasked,
		Difference{What: "stubs", Want: "a stub that fits", Got: phases.SafeLine(call+" "+string(request), 300)})
	return nil, hostcalls.Unavailable
}

// Readlink implements hostcalls.FileSystem.
func (a *answers) Readlink(_ context.Context, path string) (string, error) {
	if target, ok := a.files.Links[path]; ok {
		return target, nil
	}
	if slices.Contains(a.files.Absent, path) {
		return "", fs.ErrNotExist
	}
	if known, ok := a.known[path]; ok {
		if state, wrong := strings.CutPrefix(known, "?"); wrong {
			return "", hostcalls.FileError(state)
		}
		return known, nil
	}
	return "", hostcalls.ErrNotLink
}

// unused lists the stubs that were not used as often as they say, and the injections
// that met no call.
func (a *answers) unused(c *Case) []Difference {
	out := a.unasked
	for i := range a.stubs[:a.taken] {
		s, n := &a.stubs[i], a.used[i]
		if n > 0 && (s.Times == 0 || n == s.Times) {
			continue
		}
		want := "a stub that is used"
		if s.Times > 0 {
			want = fmt.Sprintf("used %d times", s.Times)
		}
		d := Difference{What: fmt.Sprintf("stubs/%d %s", i, s.Call), Want: want, Got: fmt.Sprintf("used %d times", n)}
		if c.suite != nil && c.suite.doc != nil {
			d.Line = c.suite.doc.Line(fmt.Sprintf("%s/stubs/%d", c.at, i))
		}
		out = append(out, d)
	}
	return append(out, a.fail.unused(c)...)
}

// leases answers the lease calls that have a stub, and leaves the others to the kernel's
// own ledger, which may be nil.
func (a *answers) leases(own hostcalls.LeaseLedger) rig.Ask {
	return func(ctx context.Context, call string, by phases.Actor, request jsontext.Value) (jsontext.Value, error) {
		switch {
		case a.has(call):
			return a.answer(call, request)
		case own == nil:
			return nil, hostcalls.Unavailable
		}
		return rig.AskLedger(own)(ctx, call, by, request)
	}
}
