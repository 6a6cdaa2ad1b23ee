package statelog

import (
	"cmp"
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
// markIn is the directory of the high-water mark about PostgreSQL, "" means the usual one. With an error the database
// is closed.
func (s *Storage) forward(ctx context.Context, p *config.Postgres, key *eventlog.Key, markIn string) error {
	d, with := s.Database, PostgresOptions(p, s.o.Version)
	with.CheckpointKey = key.Verifier()
	local, ok := d.engine.(*sqlite.Store)
	if !ok {
		return errors.Join(errors.New("only a belay.db is forwarded"), d.Close())
	}
	guard, err := s.kernelMark(p, markIn)
	if err != nil {
		return errors.Join(err, d.Close())
	}
	if d.thereWhere = central(p); guard != nil {
		d.there, with.Mark = guard, guard
	}
	both, err := forward.Open(ctx, local, with, forward.Options{Keep: p.Settings().Keep})
	if err != nil {
		return errors.Join(err, d.Close())
	}
	d.engine = both
	return nil
}

// forwardingState says how the PostgreSQL stands that belay.db is forwarded to.
func (s *Storage) forwardingState(ctx context.Context) (out wire.Sink, ok bool) {
	if s.Database == nil {
		return out, false
	}
	f, ok := s.Database.engine.(*forward.Store)
	if !ok {
		return out, false
	}
	st := f.State()
	out = wire.Sink{Kind: wire.SinkPostgres, Path: central(s.file.Central()), OK: st.Away.IsZero(), Seq: st.Forwarded,
		Warning: f.Warning(), Forwarding: forwardingOf(ctx, f, &st)}
	if out.OK {
		return out, true
	}
	out.Trouble, out.Since = string(sink.Unavailable), st.Away.UTC()
	if st.Forked != "" || st.Lost != "" {
		out.Trouble = string(sink.Foreign)
	}
	out.Problem = fmt.Sprintf("%s; %d events of about %d bytes wait to be forwarded, of %d that may",
		cmp.Or(st.Forked, st.Lost, st.Why), st.Waiting, st.Bytes, st.Keep)
	return out, true
}

// forwardingOf says how much waits, and since when.
func forwardingOf(ctx context.Context, f *forward.Store, st *forward.State) *wire.Forwarding {
	out := &wire.Forwarding{State: wire.Forwards, Waiting: st.Waiting, Bytes: st.Bytes, Keep: st.Keep}
	switch {
	case st.Forked != "":
		out.State = wire.ForwardingForked
	case st.Lost != "":
		out.State = wire.ForwardingLost
	case st.Full:
		out.State = wire.ForwardingFull
	case !st.Away.IsZero():
		out.State = wire.ForwardingAway
	}
	if !st.Last.IsZero() {
		out.Last = st.Last.UTC()
	}
	if st.Waiting > 0 {
		first, err := f.Events(ctx, wire.Query{After: st.Forwarded, Limit: 1})
		if err == nil && len(first) > 0 {
			out.Oldest = first[0].Time
		}
	}
	return out
}
