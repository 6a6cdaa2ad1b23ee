package cli

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/phases"
)

// Bounds of the look for sessions without a start: it reads the newest events, and the first ones
// of each session among them, by the index; never the log.
const (
	unstartedEvents   = 1000           // newest events that are looked at
	unstartedSessions = 50             // sessions of theirs
	unstartedFirst    = 50             // first events of each
	unstartedWithin   = 24 * time.Hour // older events say nothing about now
	unstartedPatience = time.Minute    // a start may be on its way beside the first event
)

// unstarted is a session that was seen without its start.
type unstarted struct {
	wire.Session
	First time.Time `json:"first"` // its first event
}

// eventReader is where events are read from.
type eventReader interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
}

// unstartedSessionsOf finds sessions of the last day whose start never reached belay: of their first
// events none is the runtime's SessionStart, or, where the runtime has no such event, none is a
// prompt although tools were called. Such a session began where belay's hook was not
// registered, not trusted or switched off. gone says how many of the oldest events have no
// contents; with some, a session that began before the last day is not judged.
func unstartedSessionsOf(ctx context.Context, src eventReader, gone int64, now time.Time) ([]unstarted, error) {
	newest, err := src.Events(ctx, wire.Query{Newest: true, Limit: unstartedEvents})
	if err != nil {
		return nil, err
	}
	runtimes := hookcmd.Runtimes()
	seen := map[wire.Session]bool{}
	var out []unstarted
	for i := len(newest) - 1; i >= 0 && len(seen) < unstartedSessions; i-- {
		e := &newest[i]
		key := wire.Session{Runtime: e.Runtime, Session: e.Session}
		if e.Session == "" || runtimes[e.Runtime] == nil || seen[key] || !isOfRuntime(e) ||
			now.Sub(e.Time) > unstartedWithin {
			continue
		}
		seen[key] = true
		first, err := src.Events(ctx, wire.Query{Runtime: key.Runtime, Session: key.Session, Limit: unstartedFirst})
		if err != nil {
			return nil, err
		}
		if u, bad := withoutStart(key, first, gone, now); bad {
			out = append(out, u)
		}
	}
	return out, nil
}

// isOfRuntime reports whether the runtime itself sent what the event is about: a lease, a latch or
// a decision of a person is no sign of a session.
func isOfRuntime(e *phases.Event) bool {
	return e.Type == phases.EventVerdict || e.Type == phases.EventHook
}

func withoutStart(key wire.Session, first []phases.Event, gone int64, now time.Time) (unstarted, bool) {
	u := unstarted{Session: key}
	for i := range first {
		e := &first[i]
		if !isOfRuntime(e) {
			continue
		}
		if starts(e) {
			return u, false
		}
		if u.First.IsZero() && (startEvent(e.Runtime) != "" || e.Phase == phases.PreTool || e.Phase == phases.PostTool) {
			u.First = e.Time
		}
	}
	age := now.Sub(u.First)
	return u, !u.First.IsZero() && age > unstartedPatience && (gone == 0 || age < unstartedWithin)
}

// startEvent returns the name of the runtime's event at the start of a session; "": it has none, and a session begins
// with its first prompt.
func startEvent(runtime string) string {
	if ad := hookcmd.Named(runtime); ad != nil {
		for name := range ad.Table().Events {
			if strings.EqualFold(name, "SessionStart") {
				return name
			}
		}
	}
	return ""
}

// starts reports whether the event is the start of its session, or may be one: an input that is
// not logged could be.
func starts(e *phases.Event) bool {
	if e.Phase != phases.PrePlan {
		return false
	}
	var input struct {
		Metadata struct {
			Event *string `json:"event"`
		} `json:"metadata"`
	}
	if len(e.Input) == 0 || json.Unmarshal(e.Input, &input) != nil || input.Metadata.Event == nil {
		return true
	}
	start := startEvent(e.Runtime)
	return start == "" || *input.Metadata.Event == start
}
