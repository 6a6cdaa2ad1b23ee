package kernel

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// errHookClock: InvokeOptions.HookClock is outside of what an invocation's time may be.
var errHookClock = errors.New("the clock for hooks is not between the years 1970 and 2200")

// checkClock refuses a HookClock that the input document or time_now cannot say.
func (o *InvokeOptions) checkClock() error {
	if o.HookClock != nil && (o.HookClock.Year() < 1970 || o.HookClock.Year() > 2200) {
		return errHookClock
	}
	return nil
}

// KeepTime has the hooks read the invocation's own time as the time, when it has one,
// instead of taking that for a claim. It is for an invocation that is run again or made
// up: the one at hand is decided by the host's clock.
func (o *InvokeOptions) KeepTime(inv *phases.Invocation) {
	if at := inv.Time; !at.IsZero() {
		inv.Time, o.HookClock = time.Time{}, &at
	}
}

// setClock turns the caller's time into a claim, and gives hooks the host's
// clock: a working-hours rule or a daily budget must not go by what an agent says.
func (i *invocation) setClock(inv *phases.Invocation) {
	if !inv.Time.IsZero() {
		inv.ReportedTime = inv.Time
	}
	inv.Time = i.at.Wall
	if i.options.HookClock != nil {
		inv.Time = *i.options.HookClock
	}
	inv.Time, inv.ReportedTime = inv.Time.UTC().Round(0), inv.ReportedTime.UTC().Round(0)
}

// clocks are the kernel's two clocks as one.
type clocks struct {
	Clock
	BootClock
}

// Now reads the kernel's clocks, and asks no store: Instant.High is not set.
func (k *Kernel) Now() leases.Instant {
	boot, since := k.options.Boot.Boot()
	return leases.Instant{Wall: k.options.Clock.Now(), Boot: boot, Since: since}
}

// at reads the clocks. A time stamped in another boot is held to the highest time that the store
// had seen when this process first asked. If the store cannot say, the next call asks again: the
// items that would rest on the answer cannot be read from it either.
func (k *Kernel) at(ctx context.Context) leases.Instant {
	at := k.Now()
	high := k.high.Load()
	if high == nil {
		t, err := k.options.Store.LeaseClock(ctx)
		if err != nil {
			return at
		}
		high = &t
		k.high.Store(high)
	}
	at.High = *high
	return at
}

// endedBefore reports whether only the wall clock could say that a stored item as expired
// has not run out, and cannot: it may have ended by the clock of a boot that is over, while
// the wall clock was set back. Nothing follows from an item that has expired.
func (k *Kernel) endedBefore(it *approvals.Item, at leases.Instant) bool {
	stamp := it.Clock
	if it.Decision != nil {
		stamp = it.Decision.Clock
	}
	return stamp.Boot != "" && !stamp.Counts(at)
}

// WatchClock finds out whether the wall clock jumped, by notes.MinClockJump or more, since any
// process of the state directory looked last in this boot. The process that finds it first
// records it; each process logs it. It costs nothing while there is no jump.
func (k *Kernel) WatchClock(ctx context.Context) { k.tellClock(ctx, k.watch.Look(k.Now())) }

func (k *Kernel) tellClock(ctx context.Context, news notes.ClockObservation) {
	if news.Text != "" {
		k.options.Logger.LogAttrs(ctx, slog.LevelWarn, news.Text)
	}
	if news.Err != nil {
		k.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the note of the clock could not be kept", slog.Any("error", news.Err))
	}
	if !news.Record {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if err := k.Notice(ctx, news.Text); err != nil {
		k.options.Logger.LogAttrs(ctx, slog.LevelError, "what the clock did could not be recorded", slog.Any("error", err))
	}
}

// ClockWarning says in one line what a person should know of the clock: that it jumped within
// the last day of this boot, that a jump delays deletion by age, or that the host has no boot
// clock. "" means none of these. It is safe to show.
func (k *Kernel) ClockWarning() string { return k.watch.Warning(k.Now()) }

// calmTime is CalmTime when the invocation came in.
func (i *invocation) calmTime() time.Time {
	calm, _ := i.kernel.watch.Calm(i.at)
	return calm
}

// CalmTime returns the time by which things are deleted for their age: the wall time, but
// for a jump ahead in this boot, which makes nothing older.
func (k *Kernel) CalmTime() time.Time {
	calm, _ := k.watch.Calm(k.Now())
	return calm
}
