package telemetry

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/belay-hooks/belay/phases"
)

// meters are the instruments. Their attributes take few values: phases, decisions,
// kinds, and names of bindings, which the operator gives. Nothing that a caller
// names is among them, since a caller could name something else every time.
type meters struct {
	running   metric.Int64UpDownCounter
	decisions metric.Int64Counter
	failures  metric.Int64Counter
	latency   metric.Float64Histogram
	turns     metric.Int64Counter
	turnTime  metric.Float64Histogram
	fuel      metric.Int64Histogram
	memory    metric.Int64Histogram

	together string // hooks whose names begin with it are measured as one; "": none is
}

func newMeters(m metric.Meter) (*meters, error) {
	var s meters
	var errs [8]error
	s.running, errs[0] = m.Int64UpDownCounter("belay.invocations.running", metric.WithUnit("{invocation}"),
		metric.WithDescription("Invocations being decided."))
	s.decisions, errs[1] = m.Int64Counter("belay.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Verdicts, by phase, decision and how they take effect."))
	s.failures, errs[2] = m.Int64Counter("belay.failures", metric.WithUnit("{failure}"),
		metric.WithDescription("Verdicts that a failure made, by phase and kind."))
	s.latency, errs[3] = m.Float64Histogram("belay.invocation.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from the question to the logged answer."),
		metric.WithExplicitBucketBoundaries(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5))
	s.turns, errs[4] = m.Int64Counter("belay.hook.turns", metric.WithUnit("{turn}"),
		metric.WithDescription("Turns of hooks, by hook, pass, decision and kind of failure."))
	s.turnTime, errs[5] = m.Float64Histogram("belay.hook.duration", metric.WithUnit("s"),
		metric.WithDescription("Time of one turn of a hook."),
		metric.WithExplicitBucketBoundaries(.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05,
			.1, .25))
	s.fuel, errs[6] = m.Int64Histogram("belay.hook.fuel", metric.WithUnit("{fuel}"),
		metric.WithDescription("Fuel that one turn of a hook has used."),
		metric.WithExplicitBucketBoundaries(1e3, 1e4, 1e5, 1e6, 1e7, 1e8))
	s.memory, errs[7] = m.Int64Histogram("belay.hook.memory", metric.WithUnit("By"),
		metric.WithDescription("Peak of a hook's memory in one turn."),
		metric.WithExplicitBucketBoundaries(64<<10, 256<<10, 1<<20, 4<<20, 16<<20, 64<<20))
	return &s, errors.Join(errs[:]...)
}

func (m *meters) started(ctx context.Context, phase string) {
	m.running.Add(ctx, 1, metric.WithAttributes(attribute.String("belay.phase", phase)))
}

func (m *meters) hook(ctx context.Context, phase string, r *phases.HookReport) {
	named := name(r.Hook)
	if m.together != "" && strings.HasPrefix(r.Hook, m.together) {
		named = ofUsers
	}
	hook, at := attribute.String("belay.hook.name", named), attribute.String("belay.phase", phase)
	attrs := []attribute.KeyValue{hook, at, attribute.String("belay.hook.pass", string(r.Pass)),
		attribute.String("belay.hook.decision", string(r.Decision))}
	if r.Decision == phases.HookError {
		attrs = append(attrs, attribute.String("belay.kind", string(r.Kind)))
	}
	m.turns.Add(ctx, 1, metric.WithAttributes(attrs...))
	each := metric.WithAttributeSet(attribute.NewSet(hook, at))
	m.turnTime.Record(ctx, (time.Duration(r.DurationUS) * time.Microsecond).Seconds(), each)
	m.fuel.Record(ctx, r.Fuel, each)
	m.memory.Record(ctx, r.MemoryPeak, each)
}

func (m *meters) decided(ctx context.Context, phase string, v *phases.Verdict, took time.Duration) {
	at, decision := attribute.String("belay.phase", phase), attribute.String("belay.decision", string(v.Decision))
	m.running.Add(ctx, -1, metric.WithAttributes(at))
	m.decisions.Add(ctx, 1, metric.WithAttributes(at, decision, attribute.String("belay.enforced", string(v.Enforced))))
	m.latency.Record(ctx, took.Seconds(), metric.WithAttributes(at, decision))
	if v.Kind != "" && v.Kind != phases.KindPolicy {
		m.failures.Add(ctx, 1, metric.WithAttributes(at, attribute.String("belay.kind", string(v.Kind))))
	}
}

// WatchQueue measures the queue in front of the kernel: load says how many callers
// wait now, and how many were turned away so far. It is called whenever metrics
// are collected, until Shutdown. Nothing is measured when there are no metrics.
func (t *Telemetry) WatchQueue(load func() (waiting, refused int64)) error {
	if t == nil || t.metrics == nil {
		return nil
	}
	m := t.metrics.Meter(scope)
	waiting, err1 := m.Int64ObservableGauge("belay.queue.waiting", metric.WithUnit("{invocation}"),
		metric.WithDescription("Invocations that wait for their turn."))
	refused, err2 := m.Int64ObservableCounter("belay.queue.refused", metric.WithUnit("{invocation}"),
		metric.WithDescription("Invocations that were turned away because too many waited, or one for too long."))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		w, r := load()
		o.ObserveInt64(waiting, w)
		o.ObserveInt64(refused, r)
		return nil
	}, waiting, refused)
	return err
}

// Connections are what WatchConnections measures.
type Connections struct {
	Open                   int64 // now
	GaveWay                int64 // idle ones that were ended for new ones
	AllTaken, NoDescriptor int64 // new ones that found all taken; attempts without a file descriptor
}

// WatchConnections measures the connections of the daemon. Count is called whenever metrics
// are collected, until Shutdown. Nothing is measured when there are no metrics.
func (t *Telemetry) WatchConnections(count func() Connections) error {
	if t == nil || t.metrics == nil {
		return nil
	}
	m := t.metrics.Meter(scope)
	open, err1 := m.Int64ObservableGauge("belay.connections.open", metric.WithUnit("{connection}"),
		metric.WithDescription("Connections that are open."))
	gaveWay, err2 := m.Int64ObservableCounter("belay.connections.gave_way", metric.WithUnit("{connection}"),
		metric.WithDescription("Idle connections that were ended for new ones."))
	exhausted, err3 := m.Int64ObservableCounter("belay.connections.exhausted", metric.WithUnit("{connection}"),
		metric.WithDescription("New connections that found all taken, or no file descriptor, by cause."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c := count()
		o.ObserveInt64(open, c.Open)
		o.ObserveInt64(gaveWay, c.GaveWay)
		o.ObserveInt64(exhausted, c.AllTaken, metric.WithAttributes(attribute.String("belay.cause", "connections")))
		o.ObserveInt64(exhausted, c.NoDescriptor, metric.WithAttributes(attribute.String("belay.cause", "descriptors")))
		return nil
	}, open, gaveWay, exhausted)
	return err
}

// WatchApprovals measures the items that wait for a person: pending counts them
// by kind. Each of the kinds is measured every time, so that an empty queue
// shows as 0. Pending is called whenever metrics are collected, until Shutdown;
// counts that it cannot give are left out that time. Without metrics nothing is
// measured.
func (t *Telemetry) WatchApprovals(kinds []string, pending func(context.Context) (map[string]int, error)) error {
	if t == nil || t.metrics == nil {
		return nil
	}
	m := t.metrics.Meter(scope)
	gauge, err := m.Int64ObservableGauge("belay.approvals.pending", metric.WithUnit("{item}"),
		metric.WithDescription("Items that wait for a person, by kind."))
	if err != nil {
		return err
	}
	_, err = m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		counts, err := pending(ctx)
		if err != nil {
			return nil // an error would keep every other metric from being exported
		}
		for _, k := range kinds {
			o.ObserveInt64(gauge, int64(counts[k]), metric.WithAttributes(attribute.String("belay.approval.kind", k)))
		}
		return nil
	}, gauge)
	return err
}
