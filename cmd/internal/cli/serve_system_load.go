package cli

import (
	"context"
	"log/slog"
	"sync"

	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/internal/telemetry"
)

// loads sums what the servers of all users do, for metrics. What servers did that have ended counts on: a sum never
// goes back. Safe for concurrent use.
type loads struct {
	mu     sync.Mutex
	open   map[loaded]bool
	before telemetry.Connections // of servers that have ended
	away   int64                 // callers that these turned away
}

// loaded is the server of one user, as loads looks at it.
type loaded interface {
	Load() (waiting, refused int64)
	Connections() server.ConnCounts
	Pending(ctx context.Context) (map[string]int, error)
}

// tenantLoad is the loaded of a user.
type tenantLoad struct{ *served }

func (t tenantLoad) Load() (waiting, refused int64) { return t.server.Load() }
func (t tenantLoad) Connections() server.ConnCounts { return t.server.Connections() }
func (t tenantLoad) Pending(ctx context.Context) (map[string]int, error) {
	return t.host.ApprovalCounts(ctx)
}

func (l *loads) begin(s loaded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[loaded]bool{}
	}
	l.open[s] = true
}

func (l *loads) end(s loaded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, s)
	_, refused := s.Load()
	l.away += refused
	c := s.Connections()
	addConnections(&l.before, c)
}

// addConnections adds what has become of connections, and not those that are open.
func addConnections(sum *telemetry.Connections, c server.ConnCounts) {
	sum.GaveWay += c.GaveWay
	sum.AllTaken += c.Connections
	sum.NoDescriptor += c.Descriptors
}

// queue is what telemetry.WatchQueue measures.
func (l *loads) queue() (waiting, refused int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused = l.away
	for s := range l.open {
		w, r := s.Load()
		waiting += w
		refused += r
	}
	return waiting, refused
}

// connections is what telemetry.WatchConnections measures.
func (l *loads) connections() telemetry.Connections {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.before
	for s := range l.open {
		c := s.Connections()
		sum.Open += int64(c.Open)
		addConnections(&sum, c)
	}
	return sum
}

// approvals is what telemetry.WatchApprovals measures. A user whose store does not answer is left out.
func (l *loads) approvals(ctx context.Context) (map[string]int, error) {
	sum := map[string]int{}
	for _, s := range l.all() {
		counts, err := s.Pending(ctx)
		if err != nil {
			continue
		}
		for kind, n := range counts {
			sum[kind] += n
		}
	}
	return sum, nil
}

func (l *loads) all() (out []loaded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.open {
		out = append(out, s)
	}
	return out
}

// measure has the metrics of one daemon be those of all its users together. None is told apart: there may be thousands.
func (m *machine) measure(ctx context.Context) {
	m.tel.Together(layers.UserPrefix)
	for what, err := range map[string]error{
		"the queue":   m.tel.WatchQueue(m.loads.queue),
		"connections": m.tel.WatchConnections(m.loads.connections),
		"approvals":   m.tel.WatchApprovals(approvalKinds(), m.loads.approvals),
		"refused callers": m.tel.WatchMachine(func() telemetry.Machine {
			return telemetry.Machine{Users: int64(len(m.loads.all())), Refused: m.events.Refusals()}
		}),
	} {
		if err != nil {
			m.log.LogAttrs(ctx, slog.LevelWarn, "no metrics of "+what, slog.Any("error", err))
		}
	}
}
