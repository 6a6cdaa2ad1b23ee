package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/internal/reconcile"
	"github.com/belay-hooks/belay/phases"
)

// Bounds of the look for sessions that belay never heard of.
const (
	unheardWithin   = 24 * time.Hour   // older sessions say nothing about now
	unheardSkew     = time.Minute      // by which a log and belay's events may differ in a session's beginning
	unheardPatience = 10 * time.Second // the first event may be on its way
	unheardSessions = 200              // the newest of a runtime that are looked up
)

// unheard is a session that began by the runtime's own log, and of which belay has no event.
type unheard struct {
	wire.Session
	Began time.Time `json:"began"`
}

// unread is a runtime whose own logs could not be read.
type unread struct {
	runtime string
	err     error
}

// unheardSessionsOf finds sessions of the last day that stand in a runtime's own log, and of which no event reached
// belay: the client was started without its hooks or its plugins. Only a runtime counts that asks belay in all
// projects, and a session that began after it did. gone says how many of the oldest events have no contents.
func (a *App) unheardSessionsOf(ctx context.Context, src eventReader, dir string, gone int64, now time.Time) (
	out []unheard, lost []unread, err error) {
	place, err := a.connectPlace(connectOptions{})
	if err != nil {
		return nil, nil, nil // there is no home, and so no logs
	}
	if on, err := a.onMachine(); err == nil && on {
		dir = "" // what asks the machine's daemon names no directory
	}
	for _, name := range reconcile.Runtimes() {
		since, err := a.askedSince(ctx, src, name, connect.Asks(name, place, dir, connect.Writer{}.Read), gone, now)
		if err != nil {
			return nil, nil, err
		}
		if since.IsZero() {
			continue
		}
		sessions, lostErr := reconcile.Sessions(ctx, name, a.logDir(name), since)
		if lostErr != nil {
			lost = append(lost, unread{name, lostErr})
		}
		for _, s := range sessions[max(0, len(sessions)-unheardSessions):] {
			key := wire.Session{Runtime: name, Session: s.Session}
			if now.Sub(s.At) < unheardPatience {
				continue
			}
			heard, err := src.Events(ctx, wire.Query{Runtime: name, Session: s.Session, Since: s.At.Add(-unheardSkew),
				Except: phases.EventReconcile, Limit: 1}) // a comparison of the log is no word of the runtime's
			if err != nil {
				return nil, nil, err
			}
			if len(heard) == 0 {
				out = append(out, unheard{key, s.At})
			}
		}
	}
	return out, lost, nil
}

// askedSince returns the time from which on belay can tell whether it was asked about a session of the runtime: that
// of its first event, or of the settings that have the runtime ask. The zero time: it cannot.
func (a *App) askedSince(ctx context.Context, src eventReader, name string, settings []string, gone int64,
	now time.Time) (since time.Time, err error) {
	for _, path := range settings {
		if fi, err := os.Stat(path); err == nil && (since.IsZero() || fi.ModTime().Before(since)) {
			since = fi.ModTime()
		}
	}
	if since.IsZero() {
		return since, nil
	}
	first, err := src.Events(ctx, wire.Query{Runtime: name, Limit: 1})
	if err != nil {
		return since, err
	}
	if len(first) > 0 && first[0].Time.Before(since) {
		since = first[0].Time
	}
	if gone > 0 { // what was heard before has left no trace
		kept, err := src.Events(ctx, wire.Query{After: gone, Limit: 1})
		if err != nil {
			return since, err
		}
		if len(kept) == 0 {
			return time.Time{}, nil
		}
		if since.Before(kept[0].Time) {
			since = kept[0].Time
		}
	}
	if day := now.Add(-unheardWithin); since.Before(day) {
		since = day
	}
	return since, nil
}

// unheardText says what a session that belay never heard of means.
func unheardText(u unheard) string {
	return fmt.Sprintf("session %s of %s began at %s, and belay was asked about none of it", safe(u.Session.Session),
		u.Runtime, u.Began.Local().Format(time.DateTime))
}

// unreadText says that some logs of a runtime were not looked at.
func unreadText(l unread) string {
	return fmt.Sprintf("of %s belay cannot tell which sessions it was not asked about: %s", l.runtime,
		oneLine(l.err.Error(), 200))
}

const unheardAdvice = "It stands in the runtime's own log. The client was started without its hooks or plugins, as by --pure or --bare, " +
	"or they did not load. `belay events reconcile` lists its calls, `belay doctor` looks at the settings."
