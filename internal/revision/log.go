package revision

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// FileName is the file in the state directory that says what the revision last in force
// held. It only makes events readable: which revision that was, the log says.
const FileName = "revision.json"

// maxFile is the largest such file that is read, in bytes.
const maxFile = 4 << 20

// Events reads the log.
type Events interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
}

// Log tells the log which revisions come into force. It is safe for concurrent use.
type Log struct {
	Dir    string // the state directory
	Events Events

	mu  sync.Mutex             // guards what follows
	was wire.UnsignedRevisions // the count up to the last event
	at  int64                  // the number of the last event that was looked at
}

// look is how many events back a revision is looked for. Beyond that it is logged again.
const look = 100_000

// Announce returns what the kernel is to log of a revision before it is in force.
func (l *Log) Announce(now Summary) kernel.Announcer {
	var before *string // the revision last in force, once it is known: later events may be of this one
	return func(ctx context.Context) (*kernel.Announcement, error) {
		if before == nil {
			r, any, err := l.last(ctx)
			if err != nil {
				return nil, err
			}
			if !any || r == now.Revision {
				l.remember(now)
				return nil, nil
			}
			before = &r
		}
		unlock, err := statedir.Lock(filepath.Join(l.Dir, FileName))
		if err != nil {
			unlock = func() {} // twice in the log is better than not at all
		}
		logged, err := l.logged(ctx, now.Revision)
		if logged || err != nil {
			unlock()
			return nil, err
		}
		c := Compare(*before, l.read(), now)
		data, err := json.Marshal(&c, json.Deterministic(true))
		if err != nil {
			unlock()
			return nil, err
		}
		return &kernel.Announcement{Text: c.Text(), Data: data, Done: func(logged bool) {
			unlock()
			if logged {
				l.remember(now)
			}
		}}, nil
	}
}

// last returns the revision of the newest event that names one; any is false when the
// log has no events at all.
func (l *Log) last(ctx context.Context) (revision string, any bool, err error) {
	events, err := l.Events.Events(ctx, wire.Query{Newest: true, Limit: 32})
	for i := len(events) - 1; i >= 0; i-- {
		// that one comes before this is asked
		if r := events[i].PolicyRevision; r != "" && events[i].Decision != kernel.DecisionAdopted {
			return r, true, err
		}
	}
	return "", len(events) > 0, err
}

// logged reports whether the newest change in the log is the one to this revision: then
// another process was faster, and a third still runs with the one before.
func (l *Log) logged(ctx context.Context, revision string) (bool, error) {
	newest, err := l.Events.Events(ctx, wire.Query{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return false, err
	}
	if newest[0].Decision == kernel.DecisionConfigured {
		return newest[0].PolicyRevision == revision, nil
	}
	changes, err := l.Events.Events(ctx, wire.Query{Type: phases.EventNotice, Decision: kernel.DecisionConfigured,
		After: max(0, newest[0].Seq-look), Newest: true, Limit: 1})
	return err == nil && len(changes) == 1 && changes[0].PolicyRevision == revision, err
}

// read returns the remembered Summary; an empty one when the file cannot be
// read.
func (l *Log) read() (s Summary) {
	b, err := statedir.Read(filepath.Join(l.Dir, FileName), maxFile)
	if err != nil || json.Unmarshal(b, &s, json.RejectUnknownMembers(true)) != nil {
		return Summary{}
	}
	return s
}

// remember notes the content of a revision. Without the note the next change is
// logged without the former content.
func (l *Log) remember(s Summary) {
	if have := l.read(); have.same(&s) {
		return
	}
	if b, err := json.Marshal(&s, json.Deterministic(true)); err == nil && len(b) < maxFile {
		_ = statedir.Replace(filepath.Join(l.Dir, FileName), append(b, '\n'), 0o600)
	}
}

// page is how many events are asked for at once.
const page = 1000

// Unsigned counts the changes in the log. Compacted ones do not count. A call
// that fails halfway has counted the events that it read: the next one goes on
// there.
func (l *Log) Unsigned(ctx context.Context) (wire.UnsignedRevisions, error) {
	if l == nil {
		return wire.UnsignedRevisions{}, nil // of a log alone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	newest, err := l.Events.Events(ctx, wire.Query{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return l.was, err
	}
	u, at := l.was, l.at
	for {
		events, err := l.Events.Events(ctx,
			wire.Query{Type: phases.EventNotice, After: at, Before: newest[0].Seq + 1, Limit: page})
		if err != nil {
			l.was, l.at = u, at
			return u, err
		}
		for _, e := range events {
			switch e.Decision {
			case kernel.DecisionConfigured:
				if u.Count++; u.Count == 1 {
					u.Since = e.Time
				}
				u.Last, u.Seq = e.Time, e.Seq
			case kernel.DecisionAccepted:
				u = wire.UnsignedRevisions{}
			}
			at = e.Seq
		}
		if len(events) < page {
			break
		}
	}
	l.was, l.at = u, newest[0].Seq
	return u, nil
}
