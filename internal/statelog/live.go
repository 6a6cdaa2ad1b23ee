package statelog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// Kernel records operations on the log; *kernel.Kernel is one.
type Kernel interface {
	Compact(ctx context.Context, c kernel.Compaction, by kernel.CompactBy) (kernel.Receipt, error)
	Now() leases.Instant // the clocks of the host
	CalmTime() time.Time // by which things are old; see kernel.Kernel
	UnsoundApprovals(ctx context.Context) ([]string, error)
	Asked(ctx context.Context, item string) (bool, error)
	Recorded(ctx context.Context, event string) (bool, error)
	SoundApproval(ctx context.Context, it *approvals.Item) (bool, error)
}

// Host is what the log of an open host is made of. All members are needed.
type Host struct {
	Dir     string // absolute
	Storage *Storage
	Key     *eventlog.Key
	Kernel  Kernel
	Logger  *slog.Logger
}

// Live is the event log of an open host: beside what Log does it is compacted and
// recovered. Safe for concurrent use. It is open as long as its host, and has nothing to close.
type Live struct {
	*Log
	dir     string
	db      *Database // nil: a store that was given, in which nothing can be recovered
	kernel  Kernel
	storage *Storage
	sinks   *sink.Set
	log     *slog.Logger

	current    atomic.Pointer[Configuration]
	compacting sync.Mutex // one compaction at a time
}

// NewLive returns the log of a host, with the configuration in force.
func NewLive(h Host, c Configuration) *Live {
	l := &Live{
		Log: newLog(h.Storage.Store, h.Key, h.Storage.Database.mark(), &c.File.Events),
		dir: h.Dir, storage: h.Storage, db: h.Storage.Database, kernel: h.Kernel, sinks: h.Storage.Front,
		log: h.Logger,
	}
	l.Use(c)
	return l
}

// Use takes another configuration into use.
func (l *Live) Use(c Configuration) {
	l.current.Store(&c)
	l.events.Store(&c.File.Events)
}

// Public is what every program may do with the log of an open host: what Belay.Log returns.
type Public = interface {
	Key() string
	StoreID() string
	Believed(ctx context.Context) error
}

// Of returns the log of an open host with all that commands and the daemon do with it.
// Preconditions: log is what Belay.Log returned.
func Of(log Public) *Live { return log.(*Live) }

func (l *Live) inForce() *Configuration { return l.current.Load() }

// Believed is Storage.Believed.
func (l *Live) Believed(ctx context.Context) error { return l.storage.Believed(ctx) }

// UnsoundApprovals returns the items of the queue that are not what the log says; see
// kernel.Kernel.UnsoundApprovals.
func (l *Live) UnsoundApprovals(ctx context.Context) ([]string, error) {
	return l.kernel.UnsoundApprovals(ctx)
}

// Shared reports whether other kernels write to the store, too.
func (l *Live) Shared() bool { return l.storage.Sharing() != nil }

// Asked reports whether the question of an item of the queue was asked of this kernel. The error is
// kernel.ErrUnavailable.
func (l *Live) Asked(ctx context.Context, item string) (bool, error) {
	return l.kernel.Asked(ctx, item)
}

// Latched reports whether this kernel made a latch, by the id of the event that did: where kernels share their latches,
// it is in the log of one of them. One without an id, or whose event was compacted, counts as another kernel's. The
// error is kernel.ErrUnavailable.
func (l *Live) Latched(ctx context.Context, event string) (bool, error) {
	_, local := l.storage.Engine().(*forward.Store) // leases and approvals are shared, latches are not
	if local || !l.Shared() {
		return true, nil
	}
	if event == "" {
		return false, nil
	}
	return l.kernel.Recorded(ctx, event)
}

// reviewersKnown refuses a person's verb while belay.yaml cannot be used and may
// register a reviewer. The error is config.ErrUnusable.
func (l *Live) reviewersKnown() error { return config.ReviewersKnown(l.dir, l.inForce().Unusable) }

// authority says whose decisions count by the configuration in force.
func (l *Live) authority() queue.Authority {
	f := l.inForce().File
	return queue.Authority{Reviewers: f.Authorities(), Unsigned: f.Approvals.Settings().Unsigned}
}
