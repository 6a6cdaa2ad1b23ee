package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// genAIToolName is the tool's name in the OpenTelemetry GenAI conventions, v0.1.0. Their
// gen_ai.operation.name is left out: these spans are decisions, and a backend that counts
// execute_tool would count each call twice.
const genAIToolName = "gen_ai.tool.name"

// maxName bounds a name that comes from a caller, in bytes.
const maxName = 128

// InvocationStarted implements kernel.Observer: a span begins, as a child of the
// one that the invocation's traceparent names.
func (t *Telemetry) InvocationStarted(ctx context.Context,
	inv phases.Invocation) (context.Context, kernel.Observation) {
	o := &observation{t: t, start: time.Now(), phase: string(inv.Phase)}
	if !inv.Phase.Valid() {
		o.phase = "unknown"
	}
	if t.tracer != nil {
		ctx = joined(ctx, inv.Traceparent)
		attrs := []attribute.KeyValue{attribute.String("belay.phase", o.phase)}
		attrs = appendName(attrs, "belay.runtime", inv.Runtime)
		if inv.Phase == phases.PreTool || inv.Phase == phases.PostTool {
			attrs = appendName(attrs, "belay.tool", inv.Tool())
			attrs = appendName(attrs, genAIToolName, inv.Tool())
		}
		ctx, o.span = t.tracer.Start(ctx, "belay "+o.phase, trace.WithTimestamp(o.start),
			trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(attrs...))
	}
	o.ctx = ctx
	if t.meters != nil {
		t.meters.started(ctx, o.phase)
	}
	return ctx, o
}

// joined puts the caller's span into the context, unless there is one already:
// that is the invocation for which a hook had a tool run.
func joined(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" || trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// observation follows one invocation. It is used by one goroutine at a time.
type observation struct {
	t     *Telemetry
	ctx   context.Context
	span  trace.Span // nil: no spans
	start time.Time
	phase string
}

// HookDone implements kernel.Observation.
func (o *observation) HookDone(start time.Time, r *phases.HookReport) {
	if o.span != nil && o.span.IsRecording() {
		if start.IsZero() {
			start = time.Now()
		}
		attrs := []attribute.KeyValue{
			attribute.String("belay.hook.name", name(r.Hook)), attribute.String("belay.hook.digest", r.Digest),
			attribute.String("belay.hook.tier", string(r.Tier)), attribute.String("belay.hook.mode", string(r.Mode)),
			attribute.String("belay.hook.pass", string(r.Pass)), attribute.String("belay.hook.decision", string(r.Decision)),
			attribute.Int64("belay.hook.fuel", r.Fuel), attribute.Int64("belay.hook.memory_peak", r.MemoryPeak),
			attribute.Int("belay.hook.hostcalls", r.Hostcalls),
		}
		attrs = appendName(attrs, "belay.hook.version", r.Version)
		_, span := o.t.tracer.Start(o.ctx, "hook "+name(r.Hook), trace.WithTimestamp(start), trace.WithAttributes(attrs...))
		failed(span, r.Kind)
		span.End(trace.WithTimestamp(start.Add(time.Duration(r.DurationUS) * time.Microsecond)))
	}
	if m := o.t.meters; m != nil {
		m.hook(o.ctx, o.phase, r)
	}
}

// Decided implements kernel.Observation.
func (o *observation) Decided(v *phases.Verdict, _ error) {
	took := time.Since(o.start)
	if o.span != nil {
		attrs := []attribute.KeyValue{
			attribute.String("belay.invocation", v.ID), attribute.String("belay.decision", string(v.Decision)),
			attribute.String("belay.enforced", string(v.Enforced)), attribute.Bool("belay.recorded", v.Event != nil),
			attribute.Int("belay.changed", len(v.Changed)), attribute.String("belay.policy_revision", v.PolicyRevision),
		}
		attrs = appendName(attrs, "belay.decided_by", v.DecidedBy)
		attrs = appendName(attrs, "belay.kind", string(v.Kind))
		if v.Event != nil {
			attrs = append(attrs, attribute.Int64("belay.event.seq", v.Event.Seq),
				attribute.String("belay.event.id", v.Event.ID))
		}
		o.span.SetAttributes(attrs...)
		failed(o.span, v.Kind)
		o.span.End()
	}
	if m := o.t.meters; m != nil {
		m.decided(o.ctx, o.phase, v, took)
	}
}

// failed marks a span whose work failed. It is the only place where a failure goes
// onto a span, and it takes the kind alone: the text and the cause of a failure may
// hold what the action held. A hook that says no has not failed.
func failed(span trace.Span, kind phases.Kind) {
	if kind == "" || kind == phases.KindPolicy {
		return
	}
	span.SetAttributes(attribute.String("error.type", string(kind)))
	span.SetStatus(codes.Error, string(kind))
}

// name is a name that comes from a caller: cleaned, cut, and without the
// secrets that show by themselves. The kernel has redacted known ones before.
func name(s string) string {
	return phases.SafeLine(redact.Label(phases.SafeLine(s, 4*maxName)), maxName)
}

func appendName(attrs []attribute.KeyValue, key, value string) []attribute.KeyValue {
	if value == "" {
		return attrs
	}
	return append(attrs, attribute.String(key, name(value)))
}
