package statelog

import (
	"context"
	"errors"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/kernel"
)

// State tries every place for events and checkpoints, by writing, and says how they stand,
// the store first.
func (s *Storage) State(ctx context.Context) []wire.Sink {
	out := []wire.Sink{s.storeState(ctx)}
	if st, ok := s.forwardingState(ctx); ok {
		out = append(out, st)
	}
	for _, f := range s.Front.Check(ctx) {
		st := wire.Sink{Kind: "jsonl", Path: f.Path, Durable: f.Durable, OK: true, Seq: f.Seq}
		if !f.OK {
			sink.Fail(&st, f.Err)
			st.Since = f.Since.UTC()
		}
		out = append(out, st)
	}
	for _, f := range s.checkpoints.State() {
		st := wire.Sink{Kind: "checkpoint", Path: f.Path, Durable: f.Required, OK: true}
		if f.Failed != nil {
			sink.Fail(&st, f.Failed)
		}
		out = append(out, st)
	}
	return out
}

func (s *Storage) storeState(ctx context.Context) wire.Sink {
	st := wire.Sink{Kind: "store", Durable: !s.o.InMemory, OK: true}
	if s.o.Store == nil && !s.o.InMemory {
		st.Path = databasePath(s.dir)
		if shared := direct(s.file); shared != nil {
			st.Path = central(shared)
		}
	}
	if direct(s.file) != nil || s.o.Store != nil {
		st.Warning = s.Warning()
	}
	if err := s.probe(ctx); err != nil {
		sink.Fail(&st, err)
	} else if size, err := s.Store.LogSize(ctx); err != nil {
		sink.Fail(&st, err)
	} else {
		st.Seq = size
	}
	return st
}

// Believed reports whether the store may be believed at all: it compares all of it with its
// high-water mark and with what the log records. The error is kernel.ErrRollback or
// kernel.ErrTampered; that the store cannot be written is none here.
func (s *Storage) Believed(ctx context.Context) error {
	err := s.probe(ctx)
	if errors.Is(err, kernel.ErrRollback) || errors.Is(err, kernel.ErrTampered) {
		return err
	}
	return nil
}

// probe finds out whether the store can write, by writing, and whether its rows are
// those that the log records.
func (s *Storage) probe(ctx context.Context) error {
	return s.Store.Probe(ctx, time.Now())
}
