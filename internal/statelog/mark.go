package statelog

import (
	"context"
	"errors"
	"fmt"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// behind compares the log with its mark by reading alone. The error is kernel.ErrRollback;
// a mark that is missing is none here, since the directory may be a copy.
func (l *Log) behind(ctx context.Context) error {
	if l.guard == nil {
		return nil
	}
	st, _, err := l.guard.Look()
	if err != nil || st == nil {
		return nil
	}
	// The mark before the size: what others append meanwhile is beyond the mark.
	size, err := l.store.LogSize(ctx)
	if err == nil {
		err = st.Behind(size, func(n int64) ([32]byte, error) { return eventlog.Root(ctx, l.store, n) })
	}
	if errors.Is(err, highwater.ErrBehind) {
		return fmt.Errorf("%w: %w: %w", kernel.ErrUnavailable, kernel.ErrRollback, err)
	}
	return err
}

// compareMark adds to a report that the log is behind its mark, if nothing else is wrong.
func (l *Log) compareMark(ctx context.Context, r Report, err error) (Report, error) {
	if err != nil || r.Wrong != nil {
		return r, err
	}
	err = l.behind(ctx)
	if errors.Is(err, kernel.ErrRollback) {
		r.Wrong, err = &eventlog.Finding{Text: highwater.Reason(err)}, nil
	}
	return r, err
}

// HighWater says how the database stands to the mark outside of it.
type HighWater struct {
	Place string `json:"place,omitzero"` // PostgreSQL, its schema and the kernel; "" for belay.db
	Path  string `json:"path,omitzero"`  // of the mark
	Seq   int64  `json:"seq,omitzero"`   // the last event that it knows of
	// the database went back, or the mark is missing or damaged: everything is blocked
	Behind  bool   `json:"behind,omitzero"`
	Problem string `json:"problem,omitzero"` // why, or why there is no mark
}

// Of says for people what the mark is of.
func (h *HighWater) Of() string {
	if h.Place == "" {
		return belayDB
	}
	return h.Place
}

// HighWater compares the database with its mark. Nil: there is none, and none is wanted.
func (l *Live) HighWater(ctx context.Context) *HighWater {
	if l.db == nil || l.guard == nil {
		return nil
	}
	out := &HighWater{Place: l.db.place(), Path: l.guard.Path()}
	if err := l.db.CheckMark(ctx); errors.Is(err, kernel.ErrRollback) {
		out.Behind, out.Problem = true, phases.SafeText(highwater.Reason(err), 1<<10)
		return out
	}
	switch err := l.db.MarkTrouble(); {
	case err != nil:
		out.Problem = phases.SafeText(err.Error(), 1<<10)
	default:
		out.look(l.guard)
	}
	return out
}

// HighWater says how the log stands to its mark, by reading alone: the process that writes it has it open. Nil: there
// is nothing to compare it with.
func (r *ReadOnly) HighWater(ctx context.Context) *HighWater {
	if r.guard == nil {
		return nil
	}
	out := &HighWater{Place: r.place, Path: r.guard.Path()}
	if err := r.behind(ctx); errors.Is(err, kernel.ErrRollback) {
		out.Behind, out.Problem = true, phases.SafeText(highwater.Reason(err), 1<<10)
		return out
	}
	out.look(r.guard)
	return out
}

// look says what a mark knows, or why there is none.
func (h *HighWater) look(guard *highwater.Guard) {
	if h.Path == "" {
		h.Problem = highwater.ErrNoPlace.Error() +
			": neither XDG_DATA_HOME nor HOME names one outside of the state directory; " +
			"belay.yaml can (events: {high_water: DIR})"
		return
	}
	switch st, _, err := guard.Look(); {
	case err != nil:
		h.Problem = phases.SafeText(err.Error(), 1<<10)
	case st != nil:
		h.Seq = st.Head.Size
	}
}
