package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/internal/transcripts"
	"github.com/belay-hooks/belay/phases"
)

// Events is where belay's events are read from.
type Events interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
	// Compacted says how many of the oldest events have no contents.
	Compacted(ctx context.Context) (through, event int64, err error)
}

// maxVerdicts is how many verdicts of one session are compared.
const maxVerdicts = 50_000

// Sentinels, for errors.Is.
var (
	// ErrRuntime means that belay reads no logs of the runtime.
	ErrRuntime = errors.New("belay reads no logs of this runtime")
	// ErrSession means that the log is not of the session that the caller named.
	ErrSession = errors.New("the log is of another session")
)

// Question is one log to compare.
type Question struct {
	Runtime string
	Dir     string // the runtime's directory, absolute
	Log     string // the file, absolute, in Dir
	// Session is the one whose log it has to be; "" for any.
	Session string
	Now     time.Time
	// Source tells of the log of a user of another uid; nil: this process reads it. Then no database is compared.
	Source filesource.Source
	// Most is how many bytes of the log are read; 0: transcripts.MaxBytes.
	Most int64
}

// Compare compares the sessions of one log with belay's events: one for a file of a session, several for a
// database. Errors are ErrRuntime, ErrSession, transcripts.ErrName, those of files.StreamWithin, or of
// reading. What could be read in part is no error, but unknown.
func Compare(ctx context.Context, events Events, q Question) ([]wire.Reconciliation, error) {
	kind, ok := runtimes()[q.Runtime]
	if !ok {
		return nil, ErrRuntime
	}
	// One directory may have two names; that the file lies in it is looked at when it is opened.
	if at, err := filepath.EvalSymlinks(filepath.Dir(q.Log)); q.Source == nil && err == nil && filepath.IsAbs(q.Log) {
		q.Log = filepath.Join(at, filepath.Base(q.Log))
	}
	rel, err := filepath.Rel(q.Dir, q.Log)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, &files.Error{Path: q.Log, Reason: "does not lie in " + q.Dir, Err: files.ErrElsewhere}
	}
	c := comparison{events: events, q: q, kind: kind, rel: filepath.ToSlash(rel),
		dir: transcripts.Directory{Path: q.Dir, Source: q.Source, Ctx: ctx}}
	if c.from, err = c.first(ctx); err != nil {
		return nil, err
	}
	switch {
	case c.kind.rows == nil:
	case q.Source != nil:
		return nil, ErrRuntime
	default:
		return c.database(ctx)
	}
	return c.lines(ctx)
}

// comparison is one Compare.
type comparison struct {
	events Events
	q      Question
	kind   runtime
	rel    string
	dir    transcripts.Directory
	from   time.Time
}

// first is the time of the first event whose contents are there: belay cannot judge calls from before it.
func (c *comparison) first(ctx context.Context) (time.Time, error) {
	gone, _, err := c.events.Compacted(ctx)
	if err != nil {
		return time.Time{}, err
	}
	list, err := c.events.Events(ctx, wire.Query{After: gone, Limit: 1})
	if err != nil || len(list) == 0 {
		return c.q.Now, err
	}
	return list[0].Time, nil
}

// lines compares a log that is a file of the session, with files of its subagents.
func (c *comparison) lines(ctx context.Context) ([]wire.Reconciliation, error) {
	f, err := c.open(c.rel)
	if err != nil {
		return nil, err
	}
	session, err := c.kind.session(c.rel, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if c.q.Session != "" && session != c.q.Session {
		return nil, ErrSession
	}
	verdicts, more, err := c.verdicts(ctx, session)
	if err != nil {
		return nil, err
	}
	before, err := c.before(ctx, session)
	if err != nil {
		return nil, err
	}
	list, others := c.kind.files(c.dir, c.rel, session)
	c.q.Log = filepath.Join(c.q.Dir, filepath.FromSlash(list[0].Path)) // the session's own
	part := parts{before: before}
	for i, file := range list {
		if err := c.read(&part, session, file); err != nil && i == 0 {
			return nil, err
		} else if err != nil {
			part.lost = append(part.lost, fmt.Sprintf("the log of a subagent cannot be read (%v)", reasonOf(err)))
		}
	}
	if more || others {
		part.lost = append(part.lost, whyManyCalls)
	}
	return []wire.Reconciliation{c.result(session, &part, verdicts)}, nil
}

// reasonOf says why a file was not read, without its name.
func reasonOf(err error) string {
	var f *files.Error
	switch {
	case errors.As(err, &f):
		return f.Err.Error()
	case errors.Is(err, filesource.ErrUntold):
		return filesource.ErrUntold.Error()
	}
	return "an error of the file system"
}

// open opens a file of the log. The error is files.ErrTooLarge, too.
func (c *comparison) open(path string) (*files.File, error) {
	f, err := c.dir.Open(path)
	if err == nil && c.q.Most > 0 && f.Size() > c.q.Most {
		err = &files.Error{Path: path, Reason: "is larger than what is compared here", Err: files.ErrTooLarge}
		return nil, errors.Join(err, f.Close())
	}
	return f, err
}

// parts is what was read of one session's files.
type parts struct {
	before wire.Reconciliation // the comparison before this one
	logs   []transcripts.Log
	marks  []wire.LogMark
	found  []wire.Finding
	lost   []string // why something was not read
}

func (c *comparison) read(p *parts, session string, file transcripts.File) error {
	f, err := c.open(file.Path)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	log, rewritten, err := c.kind.read(f, session, file, p.mark(file.Path))
	if err != nil {
		return err
	}
	p.add(file.Path, &log, rewritten, c.q.Now)
	return nil
}

// mark is how far the file was read before.
func (p *parts) mark(file string) transcripts.Mark {
	for _, m := range p.before.Read {
		if m.File == file {
			return transcripts.Mark{Offset: m.Offset, Digest: m.Digest}
		}
	}
	return transcripts.Mark{}
}

func (p *parts) add(file string, log *transcripts.Log, rewritten bool, now time.Time) {
	p.logs = append(p.logs, *log)
	p.marks = append(p.marks, wire.LogMark{File: file, Offset: log.Mark.Offset, Digest: log.Mark.Digest})
	if rewritten {
		p.found = append(p.found, wire.Finding{Kind: wire.FindingRewritten, Time: now, Log: file})
	}
}

// result compares what was read.
func (c *comparison) result(session string, p *parts, verdicts []Verdict) wire.Reconciliation {
	out := compare(&input{kind: c.kind, logs: p.logs, verdicts: verdicts, from: c.from, now: c.q.Now})
	for _, why := range p.lost {
		out.unknown(1, why)
	}
	// That a log was rewritten shows once: it stays a finding of the session.
	for _, f := range p.before.List {
		if f.Kind == wire.FindingRewritten {
			p.found = append(p.found, f)
		}
	}
	// A file that is gone was read before and is not any more.
	for _, m := range p.before.Read {
		if !slices.ContainsFunc(p.marks, func(n wire.LogMark) bool { return n.File == m.File }) {
			p.found = append(p.found, wire.Finding{Kind: wire.FindingRewritten, Time: c.q.Now, Log: m.File})
		}
	}
	found := append(out.findings, p.found...)
	r := wire.Reconciliation{Runtime: c.q.Runtime, Session: session, Log: c.q.Log, Status: wire.ReconcileAgrees,
		Calls: out.calls, Verdicts: out.verdicts, Earlier: out.earlier, Unknown: out.unclear, Why: out.why,
		Found: len(found), List: found[:min(len(found), wire.MaxFindings)], Read: p.marks}
	switch {
	case len(found) > 0:
		r.Status = wire.ReconcileDiffers
	case out.unclear > 0:
		r.Status = wire.ReconcileUnknown
	}
	return r
}

// verdicts reads what belay decided about calls of the session.
func (c *comparison) verdicts(ctx context.Context, session string) (out []Verdict, more bool, err error) {
	query := wire.Query{Type: phases.EventVerdict, Phase: phases.PreTool, Runtime: c.q.Runtime, Session: session,
		Limit: 1000}
	for {
		list, err := c.events.Events(ctx, query)
		if err != nil {
			return nil, false, err
		}
		for i := range list {
			if v, ok := verdictOf(&list[i], c.kind.event, c.kind.ids); ok {
				out = append(out, v)
			}
			query.After = list[i].Seq
		}
		if len(list) < query.Limit {
			return out, false, nil
		}
		if len(out) >= maxVerdicts {
			return out, true, nil
		}
	}
}

// before returns the newest comparison of the session that belay has logged.
func (c *comparison) before(ctx context.Context, session string) (wire.Reconciliation, error) {
	return Before(ctx, c.events, c.q.Runtime, session)
}
