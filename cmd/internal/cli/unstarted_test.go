package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// logOf is a log of some events, which counts what is asked of it.
type logOf struct {
	events  []phases.Event
	queries []wire.Query
}

func (l *logOf) Events(_ context.Context, q wire.Query) ([]phases.Event, error) {
	l.queries = append(l.queries, q)
	var out []phases.Event
	for i := range l.events {
		if q.Match(&l.events[i]) {
			out = append(out, l.events[i])
		}
	}
	if n := q.EffectiveLimit(); len(out) > n && q.Newest {
		out = out[len(out)-n:]
	} else if len(out) > n {
		out = out[:n]
	}
	return out, nil
}

// add appends an event of a session, some minutes before now.
func (l *logOf) add(now time.Time, minutes int, runtime, session, event string, phase phases.Phase) {
	l.events = append(l.events, phases.Event{Seq: int64(len(l.events) + 1), Type: phases.EventVerdict, Phase: phase,
		Time: now.Add(-time.Duration(minutes) * time.Minute), Runtime: runtime, Session: session,
		Input: []byte(fmt.Sprintf(`{"metadata":{"event":%q}}`, event))})
}

// A session that belay was asked about, and whose start it never saw, is told; one that started,
// one that is no agent's, one of long ago and one that has just begun are not.
func TestASessionWithoutItsStart(t *testing.T) {
	now := time.Now()
	l := new(logOf)
	l.add(now, 3000, "claude-code", "of-long-ago", "PreToolUse", phases.PreTool)
	l.add(now, 30, "claude-code", "started", "Setup", phases.Audit)
	l.add(now, 30, "claude-code", "started", "SessionStart", phases.PrePlan)
	l.add(now, 20, "claude-code", "started", "PreToolUse", phases.PreTool)
	l.add(now, 20, "claude-code", "seen", "UserPromptSubmit", phases.PrePlan)
	l.add(now, 19, "claude-code", "seen", "PreToolUse", phases.PreTool)
	l.add(now, 15, "codex", "started", "PreToolUse", phases.PreTool) // another runtime's session of that name
	l.add(now, 15, "home-grown", "seen", "", phases.PreTool)
	l.add(now, 15, "claude-code", "", "PreToolUse", phases.PreTool)
	l.add(now, 0, "claude-code", "just-begun", "PreToolUse", phases.PreTool)
	told := func(gone int64) (names []string) {
		found, err := unstartedSessionsOf(t.Context(), l, gone, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range found {
			names = append(names, u.Runtime+"/"+u.Session.Session)
		}
		slices.Sort(names)
		return names
	}
	if got := strings.Join(told(0), " "); got != "claude-code/seen codex/started" {
		t.Errorf("told: %s", got)
	}
	l.add(now, 2, "claude-code", "of-long-ago", "PreToolUse", phases.PreTool)
	if got := told(0); !slices.Contains(got, "claude-code/of-long-ago") {
		t.Errorf("told: %s", got)
	}
	if got := told(1); slices.Contains(got, "claude-code/of-long-ago") {
		t.Errorf("its start may be among the events without contents: %s", got)
	}
}

// The look is bounded, however long the log is and however many sessions it has.
func TestTheLookForStartsIsBounded(t *testing.T) {
	now := time.Now()
	l := new(logOf)
	for i := range 3000 {
		l.add(now, 10, "claude-code", fmt.Sprint("s", i), "PreToolUse", phases.PreTool)
	}
	found, err := unstartedSessionsOf(t.Context(), l, 0, now)
	if err != nil || len(found) != unstartedSessions {
		t.Errorf("%d sessions, %v", len(found), err)
	}
	for i, q := range l.queries {
		if i == 0 && (!q.Newest || q.Limit != unstartedEvents || !q.Since.IsZero()) ||
			i > 0 && (q.Session == "" || q.Limit != unstartedFirst) {
			t.Errorf("query %d would read the log: %+v", i, q)
		}
	}
	if len(l.queries) > 1+unstartedSessions {
		t.Errorf("%d queries", len(l.queries))
	}
}

// Runtimes without an event at the start begin with a prompt: a session of theirs is told where tools were called and
// no prompt was seen, and not where something of it came alone.
func TestASessionThatBeginsWithAPrompt(t *testing.T) {
	now := time.Now()
	l := new(logOf)
	for runtime, prompt := range map[string]string{"openclaw": "before_agent_run", "opencode": "chat.message"} {
		l.add(now, 30, runtime, "prompted", prompt, phases.PrePlan)
		l.add(now, 29, runtime, "prompted", "x", phases.PreTool)
		l.add(now, 28, runtime, "ended", "session_end", phases.StateTransition)
		l.add(now, 27, runtime, "unseen", "x", phases.PreTool)
	}
	found, err := unstartedSessionsOf(t.Context(), l, 0, now)
	if err != nil || len(found) != 2 || found[0].Session.Session != "unseen" || found[1].Session.Session != "unseen" {
		t.Errorf("%+v, %v", found, err)
	}
}
