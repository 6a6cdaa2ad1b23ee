package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

const (
	// recordGrace is how long a refusal under overload waits for its record. A store that
	// works takes milliseconds.
	recordGrace = 250 * time.Millisecond

	// maxRecordingSoon bounds the records of such refusals that are written at once.
	maxRecordingSoon = 64
)

// refuseSoon answers a refusal under overload without waiting for the store: it waits
// recordGrace for the record. A refusal whose record is not written by then is noted in the
// spool, so that neither its count nor its latch is lost, and reaches the log in a gap event.
func (k *Kernel) refuseSoon(ctx context.Context, inv phases.Invocation, refusal Refusal,
	now time.Time) (phases.Verdict, error) {
	if refusal.latches() {
		k.overloaded.Store(true) // also if the latch is written later
	}
	if k.recordingSoon.Add(1) > maxRecordingSoon {
		k.recordingSoon.Add(-1)
		v, _ := k.noteRefusal(ctx, inv, refusal, false)
		k.retained.markReady(inv.ID)
		return v, refusal.Fault
	}
	type record struct {
		v phases.Verdict
		f *phases.Fault
	}
	written := make(chan record)
	late := make(chan notes.Note, 1) // the caller has its answer, and made this note
	go func() {
		defer k.recordingSoon.Add(-1)
		var w record
		w.v, w.f = k.recordSafely(ctx, inv, refusal, now)
		select {
		case written <- w:
		case n := <-late:
			k.spool.settle(n, w.f == nil)
			k.retained.markReady(inv.ID) // not before: a later record would latch a session already judged
		}
	}()
	timer := time.NewTimer(recordGrace)
	defer timer.Stop()
	select {
	case w := <-written:
		if w.f != nil {
			return k.unrecorded(ctx, refusal.because(w.f))
		}
		return w.v, refusal.Fault
	case <-timer.C:
		v, n := k.noteRefusal(ctx, inv, refusal, true)
		late <- n
		return v, refusal.Fault
	}
}

// recordSafely is recordRefusal; a panic is its fault, since no caller is left to catch it.
func (k *Kernel) recordSafely(ctx context.Context, inv phases.Invocation, r Refusal,
	now time.Time) (v phases.Verdict, f *phases.Fault) {
	defer func() {
		if p := recover(); p != nil {
			f = storeFault("the record could not be written", fmt.Errorf("panic: %v", p))
		}
	}()
	return k.recordRefusal(ctx, inv, r, now)
}

// noteRefusal answers the block of a refusal whose record comes later, and notes it. With
// written, the record is being written now, and settle tells how that ended.
func (k *Kernel) noteRefusal(ctx context.Context, inv phases.Invocation, r Refusal,
	written bool) (phases.Verdict, notes.Note) {
	v := k.blocked(inv, r)
	n := k.noteOf(inv, phases.NewFault(r.Fault.Kind, k.redactText(r.Fault.Text), nil), &r)
	if written {
		k.spool.addOpen(n)
	} else {
		k.spool.add(n)
	}
	k.options.Logger.LogAttrs(ctx, slog.LevelWarn, "refused, and its record comes later: the store is slow",
		slog.String("invocation", v.ID), slog.String("phase", string(inv.Phase)), slog.String("runtime", inv.Runtime),
		slog.String("session", inv.Session))
	return v, n
}
