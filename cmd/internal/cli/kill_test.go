//go:build unix

package cli_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// rounds is how often a test kills the daemon; more with $BELAY_KILLS.
func rounds(t *testing.T) int {
	if s := os.Getenv("BELAY_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 5
}

// The test kills a daemon under load again and again, on one state directory.
// The log holds each verdict as its caller got it and no event without a
// request, and the next daemon needs no repair.
func TestKilledUnderLoad(t *testing.T) {
	dir := shortDir(t)
	initState(t, dir)
	sent, answered := map[string]*shot{}, 0
	for round := range rounds(t) {
		p := serveProcess(t, dir)
		stop := make(chan struct{})
		wait := time.Duration(rand.IntN(400)) * time.Millisecond
		time.AfterFunc(50*time.Millisecond+wait, func() { p.kill(); close(stop) })
		for _, s := range volley(t, dir, 16, stop) {
			sent[s.id] = s
			if s.v.Event != nil {
				answered++
			}
		}
		p.kill()
		if out, code := p.belay(t, "events", "verify"); code != 0 {
			t.Fatalf("round %d: %s", round, out)
		}
		check(t, p, sent)
	}
	if answered < 20*rounds(t) {
		t.Errorf("%d answers in %d rounds: that was no load", answered, rounds(t))
	}
	t.Logf("%d sent, %d answered", len(sent), answered)
	p := serveProcess(t, dir) // and it works on
	if out, code := p.belay(t, "status"); code != 0 {
		t.Errorf("status: %s", out)
	}
	stop := make(chan struct{})
	time.AfterFunc(100*time.Millisecond, func() { close(stop) })
	for _, s := range volley(t, dir, 4, stop) {
		if s.v.Event == nil {
			t.Errorf("after the kills: %+v, %v", s.v, s.err)
		}
	}
	p.kill()
	sound(t, &process{dir: dir})
}

// check compares the answers with the log.
func check(t *testing.T, p *process, sent map[string]*shot) {
	t.Helper()
	out, code := p.belay(t, "events", "export", "--output", p.dir+"/exported")
	if code != 0 {
		t.Fatal(out)
	}
	onRecord := map[string]phases.Event{}
	for line := range strings.Lines(fileText(t, p.dir+"/exported")) {
		var e phases.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != phases.EventVerdict {
			continue
		}
		if sent[e.Invocation] == nil {
			t.Errorf("event %d is about an action that no program asked about", e.Seq)
		}
		if _, twice := onRecord[e.Invocation]; twice {
			t.Errorf("two verdicts on %s", e.Invocation)
		}
		onRecord[e.Invocation] = e
	}
	for _, s := range sent {
		if s.v.Event == nil {
			continue
		}
		e, ok := onRecord[s.id]
		want := phases.Allow
		if s.command != "ls" {
			want = phases.Block
		}
		if !ok || e.Seq != s.v.Event.Seq || e.ID != s.v.Event.ID || e.Decision != string(s.v.Decision) ||
			s.v.Decision != want {
			t.Errorf("%s was answered %s as event %+v, and the log has %d %s %s", s.id, s.v.Decision, *s.v.Event, e.Seq, e.ID,
				e.Decision)
		}
	}
	// The sink is behind the store by unanswered verdicts at most.
	sink := fileText(t, p.dir+"/events.jsonl")
	whole := sink[:strings.LastIndexByte(sink, '\n')+1]
	if !strings.HasPrefix(fileText(t, p.dir+"/exported"), whole) {
		t.Error("the sink is not a beginning of the log")
	}
	there := int64(strings.Count(whole, "\n"))
	for _, s := range sent {
		if s.v.Event != nil && s.v.Event.Seq > there {
			t.Errorf("event %d was acknowledged and is not in the sink", s.v.Event.Seq)
		}
	}
}
