package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// ErrClosed: the kernel has been closed.
var ErrClosed = errors.New("kernel: closed")

// Kernel decides invocations. It is safe for concurrent use.
type Kernel struct {
	options Options
	audit   audit.Builder
	spool   *spool

	journal journal

	current atomic.Pointer[snapshot]

	// reloading keeps one Reload or Close at a time.
	reloading sync.Mutex
	closed    bool

	buffers phases.Buffers // of canonical forms

	claims claims
	left   leftBehind

	retained retained

	announcing announcing

	recordingSoon atomic.Int64 // records of refuseSoon that are being written

	overloaded atomic.Bool // since a Refuse of kind overload, until OverloadEnded

	unhealthy atomic.Pointer[Health]
	watch     *notes.ClockWatch
	high      atomic.Pointer[time.Time] // see at
	pruned    atomic.Pointer[time.Time] // when expired runs were last dropped
}

// Health says whether the kernel can do its work.
type Health struct {
	OK     bool
	Reason string // why not; safe to show
}

// Open returns a kernel with the configuration in use. A hook that cannot be
// loaded is no error here: it blocks its phases. The error is ErrConfig or
// ErrUnavailable for errors.Is.
//
// The kernel does not close the store.
func Open(ctx context.Context, cfg *Config, options Options) (*Kernel, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg == nil {
		return nil, fmt.Errorf("%w: no configuration", ErrConfig)
	}
	k := &Kernel{options: options, audit: audit.Builder{Redactor: options.Redactor,
		Digester: options.Digester, Buffers: new(audit.Buffers)},
		spool:   newSpool(options.SpoolPath),
		journal: journal{options.IntentDir}, retained: newRetained(options.Retain),
		watch: notes.NewClockWatch(options.ClockPath)}
	snap, err := newSnapshot(ctx, cfg, options.Loader, options.Terminal)
	if err != nil {
		return nil, err
	}
	k.current.Store(snap)
	k.logLoad(ctx, snap)
	news := k.watch.Look(k.Now())
	k.adoptRows(ctx)
	k.tellClock(ctx, news)
	if err := k.announce(ctx, cfg.Announce); err == nil { // otherwise intents wait, too
		k.recoverIntents(ctx)
	}
	if options.UnsafeFailOpen {
		if err := k.notice(ctx, snap, "unsafe fail-open: hooks that fail count as hooks without an opinion"); err != nil {
			return nil, errors.Join(err, snap.release())
		}
		options.Logger.LogAttrs(ctx, slog.LevelWarn, "UNSAFE: fail-open is on, hooks that fail do not block")
	}
	return k, nil
}

// Reload takes another configuration into use. Invocations that have begun
// finish with the one before, whose modules are closed after them. With an error,
// ErrConfig or ErrUnavailable for errors.Is, nothing has changed.
func (k *Kernel) Reload(ctx context.Context, cfg *Config) error {
	k.reloading.Lock()
	defer k.reloading.Unlock()
	if k.closed {
		return ErrClosed
	}
	if cfg == nil {
		return fmt.Errorf("%w: no configuration", ErrConfig)
	}
	snap, err := newSnapshot(ctx, cfg, k.options.Loader, k.options.Terminal)
	if err != nil {
		return err
	}
	text := "configuration in use: " + snap.revision
	if old := k.current.Load(); old != nil {
		text += old.authority.Changed(&snap.authority)
	}
	if err := k.noticeOf(ctx, snap, text, cfg.Announce); err != nil {
		return errors.Join(err, snap.release())
	}
	old := k.current.Swap(snap)
	k.logLoad(ctx, snap)
	if err := old.release(); err != nil {
		k.options.Logger.LogAttrs(ctx, slog.LevelWarn, "closing modules of the configuration before", slog.Any("error", err))
	}
	return nil
}

// Close waits for nothing: invocations that have begun finish, later ones are
// blocked with ErrClosed.
func (k *Kernel) Close() error {
	k.reloading.Lock()
	defer k.reloading.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	k.spool.close()
	return k.current.Swap(nil).release()
}

// Health says whether the last commit worked.
func (k *Kernel) Health() Health {
	if h := k.unhealthy.Load(); h != nil {
		return *h
	}
	return Health{OK: true}
}

// Recover records blocks that have no record yet. While the kernel is healthy it then lifts the
// latches whose cause has ended and judges retained events, for about a second; while it is not,
// it tries the store with an empty batch. Health says the outcome. Each invocation records such
// blocks first, so Recover is for callers that look while nothing happens. The error is
// ErrUnavailable.
func (k *Kernel) Recover(ctx context.Context) error {
	if err := k.recoverGap(ctx, k.Revision()); err != nil {
		return err
	}
	if k.unhealthy.Load() == nil {
		return k.liftEndedNow(ctx)
	}
	_, err := k.commit(ctx, Batch{Now: k.options.Clock.Now()}) // another process has reported the gap
	return err
}

// Revision names the configuration in use; "" after Close.
func (k *Kernel) Revision() string {
	if s := k.current.Load(); s != nil {
		return s.revision
	}
	return ""
}

// Hooks lists the bindings in the order in which they run.
func (k *Kernel) Hooks() []wire.Hook {
	s := k.current.Load()
	if s == nil {
		return nil
	}
	list := s.status()
	for i, b := range s.bindings { // in the same order
		if f := k.left.fault(b.leftKey()); f != nil && b.fault == nil {
			list[i].Problem = f.Text
		}
	}
	return list
}

// Examine says how the bindings of a configuration would stand, without taking
// it into use: look is asked in place of a Loader. The error is ErrConfig.
func Examine(cfg *Config, look func(BindingSpec) (*Loaded, error)) ([]wire.Hook, error) {
	s, err := newSnapshot(context.Background(), cfg, loaderFunc(look), nil)
	if err != nil {
		return nil, err
	}
	return s.status(), nil
}

type loaderFunc func(BindingSpec) (*Loaded, error)

func (f loaderFunc) Load(_ context.Context, spec BindingSpec) (*Loaded, error) { return f(spec) }

func (s *snapshot) status() []wire.Hook {
	out := make([]wire.Hook, 0, len(s.bindings))
	for _, b := range s.bindings {
		h := wire.Hook{Name: b.spec.Name, Digest: b.digest, Tier: b.tier, Mode: b.mode, Priority: b.spec.Priority,
			Phases: slices.Clone(b.phases)}
		if b.loaded != nil {
			h.Version, h.Signer = b.loaded.Version, b.loaded.Signer
			h.Mutates, h.Capabilities = slices.Clone(b.loaded.Mutates), slices.Clone(b.loaded.Capabilities)
		}
		if b.fault != nil {
			h.Problem = b.fault.Text
			if b.fault.Cause != nil {
				h.Detail = phases.SafeText(b.fault.Cause.Error(), 1<<10)
			}
		}
		out = append(out, h)
	}
	return out
}

func (k *Kernel) logLoad(ctx context.Context, s *snapshot) {
	for _, b := range s.bindings {
		if b.fault != nil {
			k.options.Logger.LogAttrs(ctx, slog.LevelError, "hook not loaded: its phases are blocked",
				slog.String("hook", b.spec.Name), slog.Any("error", b.fault.Cause))
		}
	}
}

// Notice records something that an operator did, beside what the kernel records by
// itself. The error is ErrUnavailable or ErrClosed.
func (k *Kernel) Notice(ctx context.Context, text string) error {
	s := k.snapshot()
	if s == nil {
		return ErrClosed
	}
	err := k.notice(ctx, s, text)
	return errors.Join(err, s.release())
}

// notice records something that an operator did.
func (k *Kernel) notice(ctx context.Context, s *snapshot, text string) error {
	now := k.options.Clock.Now()
	_, err := k.options.Store.Commit(ctx, Batch{Now: now, Calm: k.CalmTime(), Events: []phases.Event{{
		ID: k.options.NewID(now), Type: phases.EventNotice, Time: now, PolicyRevision: s.revision,
		Reason: phases.SafeText(text, phases.MaxReasonBytes),
	}}})
	return err
}

// snapshotFor returns the configuration that an invocation runs under, with one
// more user: that of the hook on whose behalf it is made, else the one in use.
func (k *Kernel) snapshotFor(p parentBudget) *snapshot {
	if p.nested() && p.scope.snap.acquire() {
		return p.scope.snap
	}
	return k.snapshot()
}

// snapshot returns the configuration in use with one more user, or nil after Close.
func (k *Kernel) snapshot() *snapshot {
	for {
		s := k.current.Load()
		if s == nil || s.acquire() {
			return s
		}
	}
}
