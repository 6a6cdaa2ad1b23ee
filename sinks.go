package belay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/kernel"
)

// SinkRecordings is the kind of what keeps full inputs, beside the record.
const SinkRecordings = "recordings"

// openSinks puts the files of belay.yaml behind the store. Records in memory go
// nowhere: whoever asks for them does not want a record.
func (b *Belay) openSinks() error {
	if v, ok := b.store.(interface{ Durable() bool }); ok && !v.Durable() && !b.o.InMemory {
		return fmt.Errorf("%w: no sink is durable: the store keeps events in memory only", ErrState)
	}
	set, err := b.sinkSettings()
	if err != nil {
		return err
	}
	newID := func(at time.Time) string { return uuid.Must(uuid.NewV7AtTime(at)).String() }
	b.sinks = sink.New(b.marks, set, newID, b.log)
	return nil
}

// sinkSettings turns belay.yaml into settings. Preconditions: nobody else uses b, or b.mu is held.
func (b *Belay) sinkSettings() ([]sink.Setting, error) {
	if b.o.InMemory {
		return nil, nil
	}
	set, err := sink.Settings(b.dir, &b.file.Events)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return set, nil
}

// sinkStates tries every place for events and checkpoints and says how they stand, the
// store first.
func (b *Belay) sinkStates(ctx context.Context) []wire.Sink {
	store := wire.Sink{Kind: "store", Durable: !b.o.InMemory, OK: true}
	if b.o.Store == nil && !b.o.InMemory {
		store.Path = filepath.Join(b.dir, "belay.db")
	}
	if err := b.probe(ctx); err != nil {
		sinkFails(&store, err)
	} else if size, err := b.store.LogSize(ctx); err != nil {
		sinkFails(&store, err)
	} else {
		store.Seq = size
	}
	out := []wire.Sink{store}
	for _, s := range b.sinks.Check(ctx) {
		st := wire.Sink{Kind: "jsonl", Path: s.Path, Durable: s.Durable, OK: s.OK, Seq: s.Seq}
		if !s.OK {
			sinkFails(&st, s.Err)
			st.Since = s.Since.UTC()
		}
		out = append(out, st)
	}
	for _, f := range b.marks.State() {
		st := wire.Sink{Kind: "checkpoint", Path: f.Path, Durable: f.Required, OK: f.Failed == nil}
		if f.Failed != nil {
			sinkFails(&st, f.Failed)
		}
		out = append(out, st)
	}
	if st, ok := b.keepSink(); ok {
		out = append(out, st)
	}
	return out
}

// Believed reports whether the store may be believed at all: it compares all of it with its
// high-water mark and with what the log records. The error is kernel.ErrRollback or
// kernel.ErrTampered; that the store cannot be written is none here.
func (b *Belay) Believed(ctx context.Context) error {
	err := b.probe(ctx)
	if errors.Is(err, kernel.ErrRollback) || errors.Is(err, kernel.ErrTampered) {
		return err
	}
	return nil
}

// probe finds out whether the store can write, by writing, and whether its rows are
// those that the log records.
func (b *Belay) probe(ctx context.Context) error {
	return b.store.Probe(ctx, time.Now())
}

func sinkFails(s *wire.Sink, err error) {
	t, problem := sink.Explain(err, s.Path)
	s.OK, s.Trouble, s.Problem = false, string(t), problem
}

// keepSink says how what is kept stands, in the form of a sink.
func (b *Belay) keepSink() (wire.Sink, bool) {
	st, ok := b.keeping.State()
	s := wire.Sink{Kind: SinkRecordings, Path: st.Dir, Durable: st.Block, OK: st.Err == nil, Kept: st.Kept, Lost: st.Lost}
	if st.Err != nil {
		sinkFails(&s, st.Err)
		if !st.Since.IsZero() {
			s.Since = st.Since.UTC()
		}
	}
	return s, ok
}
