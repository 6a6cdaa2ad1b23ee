package statelog

import (
	"context"
	"errors"
	"fmt"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/sqlite"
)

// forward has the events of belay.db forwarded to the PostgreSQL that belay.yaml names, which has leases and approvals.
// With an error the database is closed.
func (d *Database) forward(ctx context.Context, p *config.Postgres, key *eventlog.Key, o StorageOptions) error {
	with := PostgresOptions(p, o.Version)
	with.CheckpointKey = key.Verifier()
	local, ok := d.engine.(*sqlite.Store)
	if !ok {
		return errors.Join(errors.New("only a belay.db is forwarded"), d.Close())
	}
	s, err := forward.Open(ctx, local, with, forward.Options{Keep: p.Settings().Keep})
	if err != nil {
		return errors.Join(err, d.Close())
	}
	d.engine = s
	return nil
}

// forwardingState says how the PostgreSQL stands that belay.db is forwarded to.
func (s *Storage) forwardingState() (out wire.Sink, ok bool) {
	if s.Database == nil {
		return out, false
	}
	f, ok := s.Database.engine.(*forward.Store)
	if !ok {
		return out, false
	}
	st := f.State()
	out = wire.Sink{Kind: wire.SinkPostgres, Path: central(s.file.Central()), OK: st.Away.IsZero(), Seq: st.Forwarded}
	if out.OK {
		return out, true
	}
	out.Trouble, out.Since = string(sink.Unavailable), st.Away.UTC()
	if st.Forked != "" || st.Lost != "" {
		out.Trouble = string(sink.Foreign)
	}
	out.Problem = fmt.Sprintf("%s; %d events of about %d bytes wait to be forwarded, of %d that may", st.Why, st.Waiting,
		st.Bytes, st.Keep)
	return out, true
}
