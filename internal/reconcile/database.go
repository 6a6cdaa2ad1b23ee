package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/sqlite/foreign"
	"github.com/belay-hooks/belay/internal/transcripts"
)

// maxLook bounds how long the rows of a database are read.
const maxLook = time.Minute

// database compares the sessions of a log that is a database: those that were written since belay's first
// event.
func (c *comparison) database(ctx context.Context) ([]wire.Reconciliation, error) {
	if !transcripts.Matches(c.kind.logs, c.rel) {
		return nil, transcripts.ErrName
	}
	looking, cancel := context.WithTimeout(ctx, maxLook)
	defer cancel()
	db, err := foreign.Open(looking, c.q.Dir, c.q.Log)
	if err != nil {
		return nil, err
	}
	logs, err := c.kind.rows(db, c.from)
	if err = closing(err, db.Close); err != nil {
		return nil, err
	}
	var order []string
	bySession := map[string][]*transcripts.Log{}
	for _, log := range logs {
		if bySession[log.Session] == nil {
			order = append(order, log.Session)
		}
		bySession[log.Session] = append(bySession[log.Session], log)
	}
	var out []wire.Reconciliation
	for _, session := range order {
		if c.q.Session != "" && session != c.q.Session {
			continue
		}
		r, err := c.rows(ctx, session, bySession[session])
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

func closing(err error, closer func() error) error {
	if cerr := closer(); err == nil {
		return cerr
	}
	return err
}

// rows compares one session of a database.
func (c *comparison) rows(ctx context.Context, session string, logs []*transcripts.Log) (wire.Reconciliation, error) {
	verdicts, more, err := c.verdicts(ctx, session)
	if err != nil {
		return wire.Reconciliation{}, err
	}
	before, err := c.before(ctx, session)
	if err != nil {
		return wire.Reconciliation{}, err
	}
	part := parts{before: before}
	for _, log := range logs {
		name := c.rel + "#" + log.Session
		if log.Agent != "" {
			name = c.rel + "#" + log.Agent
		}
		if len(part.logs) > transcripts.MaxFiles {
			more = true
			break
		}
		part.add(name, log, markCalls(log, part.mark(name)), c.q.Now)
	}
	if more {
		part.lost = append(part.lost, whyManyCalls)
	}
	return c.result(session, &part, verdicts), nil
}

// markCalls marks how far the calls of a log have come to their end, and reports whether those that had ended
// before are unchanged.
func markCalls(log *transcripts.Log, before transcripts.Mark) (rewritten bool) {
	rewritten = before.Offset > 0
	sum := sha256.New()
	for i := range log.Calls {
		c := &log.Calls[i]
		if c.State == transcripts.Open {
			break // it can still change
		}
		fmt.Fprintf(sum, "%q %q\n", c.ID, keyOf(c.Names[0], c.Args)) // however the runtime writes its JSON
		log.Mark = transcripts.Mark{Offset: int64(i) + 1, Digest: hex.EncodeToString(sum.Sum(nil))}
		if log.Mark == before {
			rewritten = false
		}
	}
	return rewritten
}
