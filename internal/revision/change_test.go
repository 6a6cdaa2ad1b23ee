package revision_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/revision"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const fileA = `{"version":"belay/v1","hooks":[{"name":"a","module":"sha256:1"},{"name":"b","module":"builtin:b"}],"reviewers":[{"name":"anna","key":"ed25519:A"}],"limits":{"chain_ms":1}}`
const fileB = `{"version":"belay/v1","hooks":[{"name":"a","module":"sha256:1","priority":1},{"name":"c","module":"sha256:3"}],"reviewers":[{"name":"anna","key":"ed25519:E"}],"limits":{"chain_ms":2},"redact":{"x":"hunter2"}}`

func of(t *testing.T, rev, file, policy string) revision.Summary {
	t.Helper()
	var p any
	if policy != "" {
		p = jsontext.Value(policy)
	}
	s, err := revision.Of(rev, jsontext.Value(file), p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The event names what differs and holds no value that could be guessed from a digest.
func TestCompare(t *testing.T) {
	was := of(t, "r1", fileA, `{"version":"v1","rules":[{"name":"r","allOf":[1]}],"deny":{"keys":["K"]}}`)
	now := of(t, "r2", fileB,
		`{"version":"v1","rules":[{"name":"r","allOf":[2]}],"deny":{"digests":["sha256:9"],"identities":[{"issuer":"i"}]}}`)
	c := revision.Compare("r1", was, now)
	want := `{"before":"r1","after":"r2","known":true,` +
		`"hooks":[{"name":"a","before":"sha256:1","after":"sha256:1"},{"name":"b","before":"builtin:b"},{"name":"c","after":"sha256:3"}],` +
		`"reviewers":[{"name":"anna","before":"ed25519:A","after":"ed25519:E"}],` +
		`"settings":[{"name":"limits","before":"set","after":"set"},{"name":"redact","after":"set"}],` +
		`"rules":[{"name":"r","before":"set","after":"set"}],` +
		`"denied":[{"name":"K","before":"keys"},{"name":"sha256:9","after":"digests"},{"name":"{\"issuer\":\"i\"}","after":"identities"}]}`
	b, err := json.Marshal(&c, json.Deterministic(true))
	if err != nil || string(b) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b, want)
	}
	for _, part := range []string{"from r1", "reviewers ~anna", "hooks ~a -b +c", "settings ~limits +redact",
		"trust rules ~r", "denied -K +sha256:9"} {
		if !strings.Contains(c.Text(), part) {
			t.Errorf("%q is missing in %q", part, c.Text())
		}
	}
	if c := revision.Compare("r0", was, now); c.Known || len(c.Hooks) > 0 || !strings.Contains(c.Text(), "not known") {
		t.Errorf("a summary of another revision is used: %s", c.Text())
	}
}

func TestCompareIsBounded(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, `{"name":"h`+string(rune('0'+i%10))+strings.Repeat("x", i)+`","module":"m"}`)
	}
	c := revision.Compare("r1", of(t, "r1", `{}`, ""), of(t, "r2", `{"hooks":[`+strings.Join(many, ",")+`]}`, ""))
	if len(c.Hooks) != revision.MaxItems || c.Omitted != 200-revision.MaxItems {
		t.Errorf("%d items, %d omitted", len(c.Hooks), c.Omitted)
	}
}

// events is a log in memory.
type events struct {
	list  []phases.Event
	err   error
	pages int // how many pages of notices a caller gets before its time is up; 0: all
	given int
}

func (l *events) add(e phases.Event) {
	e.Seq, e.Time = int64(len(l.list)+1), time.Unix(int64(len(l.list)), 0)
	l.list = append(l.list, e)
}

func (l *events) Events(_ context.Context, q wire.Query) (out []phases.Event, err error) {
	if l.pages > 0 && q.Type != "" {
		if l.given++; l.given > l.pages {
			l.given = 0
			return nil, context.DeadlineExceeded
		}
	}
	for _, e := range l.list {
		if e.Seq > q.After && (q.Before == 0 || e.Seq < q.Before) && (q.Type == "" || e.Type == q.Type) &&
			(q.Decision == "" || e.Decision == q.Decision) {
			out = append(out, e)
		}
	}
	if n := len(out) - q.EffectiveLimit(); n > 0 && q.Newest {
		out = out[n:]
	} else if n > 0 {
		out = out[:q.EffectiveLimit()]
	}
	return out, l.err
}

// announce does what the kernel does, and reports whether something was logged.
func announce(t *testing.T, l *revision.Log, log *events, s revision.Summary) bool {
	t.Helper()
	a, err := l.Announce(s)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		return false
	}
	log.add(phases.Event{Type: phases.EventNotice, Decision: kernel.DecisionConfigured, PolicyRevision: s.Revision,
		Output: a.Data, Reason: a.Text})
	a.Done(true)
	return true
}

func TestEachRevisionIsLoggedOnce(t *testing.T) {
	log := &events{}
	l := &revision.Log{Dir: t.TempDir(), Events: log}
	r1, r2 := of(t, "r1", fileA, ""), of(t, "r2", fileB, "")
	if announce(t, l, log, r1) {
		t.Error("the first configuration is no change")
	}
	log.add(phases.Event{Type: phases.EventVerdict, PolicyRevision: "r1"})
	if announce(t, l, log, r1) {
		t.Error("the same configuration is no change")
	}
	if !announce(t, l, log, r2) || announce(t, l, log, r2) {
		t.Error("a change is logged once")
	}
	if e := log.list[len(log.list)-1]; !strings.Contains(e.Reason, "+c") ||
		!strings.Contains(string(e.Output), `"before":"r1"`) {
		t.Errorf("%s %s", e.Reason, e.Output)
	}
	log.add(phases.Event{Type: phases.EventVerdict, PolicyRevision: "r1"}) // a daemon that has not looked yet
	if announce(t, l, log, r2) {
		t.Error("a process that still runs with the one before makes it no other change")
	}
	log.add(phases.Event{Type: phases.EventVerdict, PolicyRevision: "r2"})
	if !announce(t, l, log, r1) {
		t.Error("the way back is a change as well")
	}
	u, err := l.Unsigned(t.Context())
	if err != nil || u.Count != 2 || !u.Since.Before(u.Last) || u.Seq != int64(len(log.list)) {
		t.Errorf("%+v, %v", u, err)
	}
	log.add(phases.Event{Type: phases.EventNotice, Decision: kernel.DecisionAccepted, PolicyRevision: "r1"})
	if u, _ := l.Unsigned(t.Context()); u.Count != 0 {
		t.Errorf("after it was accepted: %+v", u)
	}
	if !announce(t, l, log, r2) {
		t.Error("a change after that")
	}
	if u, _ := l.Unsigned(t.Context()); u.Count != 1 {
		t.Errorf("after it was accepted and changed again: %+v", u)
	}
}

// The file beside the log makes the event readable, and decides nothing:
// deleting or forging it hides no change.
func TestTheFileDecidesNothing(t *testing.T) {
	for name, text := range map[string]string{"deleted": "",
		"of the new revision": `{"revision":"r2","hooks":{},"reviewers":{},"settings":{},"rules":{},"denied":{},"trust":{}}`,
		"no JSON":             "{"} {
		dir := t.TempDir()
		log := &events{}
		l := &revision.Log{Dir: dir, Events: log}
		log.add(phases.Event{Type: phases.EventVerdict, PolicyRevision: "r1"})
		announce(t, l, log, of(t, "r1", fileA, ""))
		path := filepath.Join(dir, revision.FileName)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !announce(t, l, log, of(t, "r2", fileB, "")) ||
			!strings.Contains(string(log.list[1].Output), `"before":"r1","after":"r2","known":false`) {
			t.Errorf("%s: %s", name, log.list[len(log.list)-1].Output)
		}
	}
}

// What the log holds under a revision while it could not be announced does not make it
// an old one.
func TestAnnouncedAfterAFailure(t *testing.T) {
	log := &events{}
	l := &revision.Log{Dir: t.TempDir(), Events: log}
	log.add(phases.Event{Type: phases.EventVerdict, PolicyRevision: "r1"})
	ask := l.Announce(of(t, "r2", fileB, ""))
	a, err := ask(t.Context())
	if err != nil || a == nil {
		t.Fatal(err)
	}
	a.Done(false)
	log.add(phases.Event{Type: phases.EventLatch, PolicyRevision: "r2"})
	if a, err = ask(t.Context()); err != nil || a == nil {
		t.Fatalf("%v, %v", a, err)
	}
	a.Done(true)
	log.err = errors.New("down")
	if _, err := l.Announce(of(t, "r3", fileA, ""))(t.Context()); err == nil {
		t.Error("a log that cannot be read knows no revision")
	}
}

// A count that is cut short goes on where it stopped: a log so long that one call cannot
// read it is read by a few.
func TestCountingGoesOnWhereItStopped(t *testing.T) {
	log := &events{}
	l := &revision.Log{Dir: t.TempDir(), Events: log}
	const notices, limit = 2500, 1000 // a page
	for range notices {
		log.add(phases.Event{Type: phases.EventNotice, Decision: kernel.DecisionConfigured})
	}
	log.pages = 1
	for calls := 1; ; calls++ {
		u, err := l.Unsigned(t.Context())
		if err == nil {
			if u.Count != notices || calls != notices/limit+1 {
				t.Errorf("%d changes after %d calls", u.Count, calls)
			}
			return
		}
		if calls > notices {
			t.Fatalf("call %d begins anew: %+v", calls, u)
		}
	}
}
