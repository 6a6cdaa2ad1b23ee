package systemtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// try is one thing that a user does against belay.
type try struct {
	who   int
	what  string // what the user tries
	holds string // what holds against it
	// row is the row of a page that the try shows: the first cell of a row of `What this does not do` in SERVE.md, or of
	// the tables below `Try it` in SYSTEM.md. TestEveryRowIsTried compares them.
	row string
	// route is where belay refuses it unread, such as "POST /v1/reload". Of that there is an event for the first, and
	// later ones are counted.
	route string
	// machine is the code of the event that the machine's log has, since it is not the user's own server that refuses.
	machine string
	quiet   string // why belay makes no event of it, although the system did not refuse it
	do      func(*stage) outcome
}

// outcome is what has come of a try.
type outcome struct {
	held     bool
	happened string // in few words
	saw      string // all that was seen, for when it did not hold
	event    string // its number, where another user's log has it
}

// group is tries of one kind, in the order in which they are made.
type group struct {
	name  string
	tries func() []try
}

// groups are all tries.
func groups() []group {
	return []group{
		{"sessions", sessionTries}, {"environment variables", variableTries}, {"files", fileTries},
		{"planted files", plantedTries}, {"sockets", socketTries}, {"configuration", configurationTries},
		{"tokens", tokenTries}, {"approvals", approvalTries}, {"leases", leaseTries}, {"latches", latchTries},
		{"checkpoints", checkpointTries}, {"clock", clockTries}, {"the caller's files", callerTries},
		{"processes", processTries}, {"namespaces", namespaceTries}, {"installation", installationTries},
		{"flooding", floodTries}, {"kills", killTries},
	}
}

// stage is where tries are made. What one leaves for those behind it stands here.
type stage struct {
	*machine
	carol, dave reviewer // carol may sign for alice, and dave for bob

	approved  replayed      // a decision about a question of alice's
	lease     lent          // a lease of alice's
	statement string        // of carol, that clears a latch of alice's
	behind    []func() bool // what is looked at again at the end
}

// Why a try makes no event.
const (
	looks     = "looks at what is the user's own"
	byCommand = "the command refuses it, and asks nothing"
	away      = "there is no daemon"
	elsewhere = "the daemon is asked nothing"
)

const line = "%s%-6s %-63s %-33s %-12s %s\n"

// show makes the tries of all groups, and prints a line for each.
func (s *stage) show(groups []group) {
	fmt.Printf(line, marked(""), "WHO", "TRIES", "WHAT HAPPENED", "EVENT", "WHAT HELD")
	for _, g := range groups {
		fmt.Printf("%s\n", g.name)
		for _, t := range g.tries() {
			s.make(t)
		}
	}
}

func (s *stage) make(t try) {
	s.t.Helper()
	name := map[int]string{0: "root", alice: "alice", bob: "bob", mallet: "mallet"}[t.who]
	before := s.newest(t.who)
	o := t.do(s)
	mark, event := "held", o.event
	switch {
	case event != "":
	case t.machine != "":
		if seq := s.machineEvent(t.who, t.machine); seq > 0 {
			event = "machine " + strconv.FormatInt(seq, 10)
		}
	case t.route != "":
		if seq := s.refusal(t.who, t.route); seq > before.Seq {
			event = strconv.FormatInt(seq, 10)
		} else if seq > 0 {
			event = strconv.FormatInt(seq, 10) + ", counted"
		}
	default:
		if after := s.newest(t.who); after.Seq > before.Seq {
			event = strconv.FormatInt(after.Seq, 10)
		}
	}
	if event == "" && t.who != 0 && t.quiet == "" && !refusedByTheSystem(o.happened) {
		o.held, o.saw = false, "no event; "+o.saw
	}
	if !o.held {
		mark = "FAILED"
		s.t.Errorf("%s: %s: want %s, saw %s", name, t.what, t.holds, o.saw)
	}
	fmt.Printf(line, marked(mark), name, t.what, o.happened, event, t.holds)
}

// refusal is the number of the event that a user was refused on a route, once it is there.
func (s *stage) refusal(uid int, route string) int64 {
	for end := time.Now().Add(3 * time.Second); s.daemon != nil &&
		time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, e := range slices.Backward(s.events(uid, "type="+string(phases.EventAccess)+"&newest=true&limit=200")) {
			var a wire.Access
			if json.Unmarshal(e.Output, &a) == nil && (a.Request == route || a.Code == route) {
				return e.Seq
			}
		}
	}
	return 0
}

// machineEvent is the number of the newest event in the machine's log about a caller, once it is there.
func (s *stage) machineEvent(uid int, code string) (seq int64) {
	for end := time.Now().Add(5 * time.Second); seq == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		out, _, _ := s.as(0, "", "/usr/local/bin/belay", "--state", machineDir, "events", "query", "--type",
			string(phases.EventAccess), "--json", "--limit", "500")
		for text := range strings.Lines(out) {
			var e phases.Event
			var a wire.Access
			if json.Unmarshal([]byte(text), &e) == nil && json.Unmarshal(e.Output, &a) == nil && a.UID == uid && a.Code == code {
				seq = e.Seq
			}
		}
	}
	return seq
}

// newest is the newest event of a user's log, as the user sees it.
func (s *stage) newest(uid int) (e phases.Event) {
	if events := s.events(uid, "newest=true&limit=1"); len(events) > 0 {
		e = events[0]
	}
	return e
}

// events are those that the user sees, with a query of /v1/events; none while the daemon is away.
func (s *stage) events(uid int, query string) []phases.Event {
	if s.daemon == nil || uid != alice && uid != bob {
		return nil
	}
	status, body := s.http(uid, "GET", "/v1/events?"+query, "")
	var a struct {
		Events []phases.Event `json:"events"`
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		s.t.Errorf("events of %d: %d %.200s: %v", uid, status, body, err)
	}
	return a.Events
}

// http speaks to the socket of the machine as a user; status 0: no answer.
func (s *stage) http(uid int, method, path, body string, token ...string) (status int, answer string) {
	s.t.Helper()
	out, errs, _ := s.as(uid, body, "/usr/local/bin/try", append([]string{"http", method, path}, token...)...)
	first, rest, _ := strings.Cut(out, " ")
	status, err := strconv.Atoi(first)
	if err != nil {
		return 0, out + errs
	}
	return status, rest
}

// belay runs a command as a user.
func (s *stage) belay(uid int, args ...string) (out string, code int) {
	s.t.Helper()
	o, e, code := s.as(uid, "", "/usr/local/bin/belay", args...)
	return o + e, code
}

// root runs a command on the state directory of a user.
func (s *stage) onState(uid int, args ...string) (out string, code int) {
	s.t.Helper()
	return s.belay(0, append([]string{"--state", stateOf(uid)}, args...)...)
}

func stateOf(uid int) string { return "/var/lib/belay/users/" + strconv.Itoa(uid) }

// In the functions below stands what many tries have in common.

// destroys is a command that the hooks of the machine block.
const destroys = "rm -rf /"

// stillBlocked asks about destroys with variables and flags.
func stillBlocked(env []string, flags ...string) func(*stage) outcome {
	return func(s *stage) outcome { return decidedByGuard(s.verdict(alice, env, "s-2", destroys, flags...)) }
}

func decidedByGuard(decision, reason string) outcome {
	return outcome{held: decision == "deny" && strings.Contains(reason, "command-guard"), happened: said(decision, reason),
		saw: decision + " " + reason}
}

// said tells a decision in few words.
func said(decision, reason string) string {
	switch {
	case decision == "deny" && strings.Contains(reason, "command-guard"):
		return "blocked by command-guard"
	case decision == "deny":
		return "blocked: " + short(strings.TrimPrefix(strings.TrimPrefix(reason, "belay: "), "load: "), 23)
	case decision == "allow" || decision == "no opinion":
		return "decided: allow"
	}
	return "answered: " + decision
}

func short(text string, n int) string {
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// denied does something to a file or process; the system refuses it.
func denied(verb string, args ...string) func(*stage) outcome {
	return func(s *stage) outcome { return refusedBySystem(s.try(alice, append([]string{verb}, args...)...)) }
}

func refusedBySystem(err error) outcome {
	o := outcome{saw: fmt.Sprint(err), happened: fmt.Sprint(err)}
	o.held = refusedByTheSystem(o.happened)
	if err == nil {
		o.happened = "it went"
	}
	return o
}

func refusedByTheSystem(happened string) bool {
	return slices.Contains([]string{"permission denied", "operation not permitted"}, happened)
}

// refused runs a command of belay's as alice, which says why it does not do that.
func refused(text string, args ...string) func(*stage) outcome {
	return func(s *stage) outcome {
		out, code := s.belay(alice, args...)
		return outcome{held: code != 0 && strings.Contains(out, text), happened: fmt.Sprintf("exit %d: %s", code,
			short(strings.TrimPrefix(out, "belay: "), 23)), saw: out}
	}
}

// answered sends a request as alice, and looks at the status and at a part of the answer.
func answered(status int, text, method, path, body string, token ...string) func(*stage) outcome {
	return func(s *stage) outcome {
		got, answer := s.http(alice, method, path, body, token...)
		return outcome{held: got == status && strings.Contains(answer, text), happened: fmt.Sprintf("status %d", got),
			saw: fmt.Sprintf("%d %s", got, answer)}
	}
}
