package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/belay-hooks/belay/kernel"
)

// Options say who is watched. Getenv is needed.
type Options struct {
	// Getenv decides whether anything is started. The exporters themselves read
	// the process's environment.
	Getenv    func(string) string
	Version   string       // of the program
	LongLived bool         // a daemon: it may also serve metrics to Prometheus
	Logger    *slog.Logger // hears of exports that fail; nil discards
}

// Telemetry is a kernel.Observer that exports. It is safe for concurrent use.
type Telemetry struct {
	traces  *sdktrace.TracerProvider // nil: no spans
	metrics *sdkmetric.MeterProvider // nil: no metrics
	tracer  trace.Tracer             // of traces
	meters  *meters                  // of metrics
}

// Open starts what the environment asks for, or returns nil when it asks for
// nothing. Errors are ErrVariables for errors.Is, or those of the exporters.
//
// What the SDK has to say about itself goes to the Logger from then on, for the
// whole process: the SDK has one place for that only.
func Open(ctx context.Context, o Options) (*Telemetry, error) {
	w, err := read(o.Getenv, o.LongLived)
	if err != nil || !w.traces && !w.metrics {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	otel.SetErrorHandler(&complaints{log: o.Logger})
	otel.SetLogger(logr.FromSlogHandler(o.Logger.Handler()))
	res, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "belay"), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // the environment's wins
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	t := &Telemetry{}
	if w.traces {
		e, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return nil, fmt.Errorf("telemetry: spans: %w", err)
		}
		t.watchSpans(sdktrace.WithBatcher(e), sdktrace.WithResource(res))
	}
	if w.metrics {
		r, err := autoexport.NewMetricReader(ctx)
		if err == nil {
			err = t.watchMetrics(sdkmetric.WithReader(r), sdkmetric.WithResource(res))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("telemetry: metrics: %w", err), t.Shutdown(ctx))
		}
	}
	return t, nil
}

const scope = "github.com/belay-hooks/belay"

func (t *Telemetry) watchSpans(o ...sdktrace.TracerProviderOption) {
	t.traces = sdktrace.NewTracerProvider(o...)
	t.tracer = t.traces.Tracer(scope)
}

func (t *Telemetry) watchMetrics(o ...sdkmetric.Option) (err error) {
	t.metrics = sdkmetric.NewMeterProvider(o...)
	t.meters, err = newMeters(t.metrics.Meter(scope))
	return err
}

// Observer returns what a kernel is given: nil for a nil Telemetry.
func (t *Telemetry) Observer() kernel.Observer {
	if t == nil {
		return nil // and not a *Telemetry in an interface, which is not nil
	}
	return t
}

// Shutdown sends queued data and ends all exporters. It returns when ctx ends,
// at the latest; data not sent by then is lost. A nil Telemetry has nothing to
// do.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	done := make(chan error, 2)
	n := 0
	if t.traces != nil {
		n++
		go func() { done <- t.traces.Shutdown(ctx) }()
	}
	if t.metrics != nil {
		n++
		go func() { done <- t.metrics.Shutdown(ctx) }()
	}
	var errs []error
	for range n {
		select {
		case err := <-done:
			errs = append(errs, err)
		case <-ctx.Done():
			return errors.Join(append(errs, ctx.Err())...)
		}
	}
	return errors.Join(errs...)
}

// complaints passes the SDK's errors to the log, at most one a minute: a collector
// that is away for a day is one story, not twenty thousand.
type complaints struct {
	log  *slog.Logger
	last atomic.Int64 // unix nanoseconds of the last one that was written
}

func (c *complaints) Handle(err error) {
	level, now, last := slog.LevelDebug, time.Now().UnixNano(), c.last.Load()
	if now-last >= int64(time.Minute) && c.last.CompareAndSwap(last, now) {
		level = slog.LevelWarn
	}
	c.log.LogAttrs(context.Background(), level, "telemetry could not be sent", slog.Any("error", err))
}

var _ kernel.Observer = (*Telemetry)(nil)
