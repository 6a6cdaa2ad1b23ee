package export

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// The JSON encoding of OTLP (opentelemetry-proto, collector/logs/v1): lowerCamel
// names, 64-bit integers as strings, trace and span ids in hexadecimal.
type (
	otlpRequest struct {
		ResourceLogs []otlpResourceLogs `json:"resourceLogs"`
	}
	otlpResourceLogs struct {
		Resource  otlpResource    `json:"resource"`
		ScopeLogs []otlpScopeLogs `json:"scopeLogs"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeLogs struct {
		Scope      otlpScope    `json:"scope"`
		LogRecords []otlpRecord `json:"logRecords"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitzero"`
	}
	otlpRecord struct {
		Time           string          `json:"timeUnixNano"`
		Observed       string          `json:"observedTimeUnixNano"`
		SeverityNumber int             `json:"severityNumber"`
		SeverityText   string          `json:"severityText"`
		EventName      string          `json:"eventName"`
		Body           otlpValue       `json:"body"`
		Attributes     []otlpAttribute `json:"attributes"`
		Flags          int             `json:"flags,omitzero"`
		TraceID        string          `json:"traceId,omitzero"`
		SpanID         string          `json:"spanId,omitzero"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string `json:"stringValue,omitzero"`
		Int    *string `json:"intValue,omitzero"`
	}
)

const scope = "github.com/belay-hooks/belay"

func text(key, value string) otlpAttribute {
	return otlpAttribute{Key: key, Value: otlpValue{String: &value}}
}

func number(key string, value int64) otlpAttribute {
	s := strconv.FormatInt(value, 10)
	return otlpAttribute{Key: key, Value: otlpValue{Int: &s}}
}

// otlp writes one export request, which holds all the events.
func (w *Writer) otlp(events []phases.Event) ([]byte, error) {
	records := make([]otlpRecord, len(events))
	for i := range events {
		var err error
		if records[i], err = otlpOf(&events[i]); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(otlpRequest{ResourceLogs: []otlpResourceLogs{{
		Resource: otlpResource{Attributes: []otlpAttribute{text("service.name", "belay"),
			text("service.version", w.version)}},
		ScopeLogs: []otlpScopeLogs{{Scope: otlpScope{Name: scope, Version: w.version}, LogRecords: records}},
	}}})
	if err != nil {
		return nil, fmt.Errorf("export: events %d to %d: %w", events[0].Seq, events[len(events)-1].Seq, err)
	}
	return append(visible(b), '\n'), nil
}

// otlpOf puts the whole event into the body, as JSON, and what one searches by
// into the attributes, which are named as those of the spans.
func otlpOf(e *phases.Event) (otlpRecord, error) {
	body, err := JSON(e)
	if err != nil {
		return otlpRecord{}, err
	}
	sev := severityOf(e)
	at := "0"
	if ns := e.Time.UnixNano(); !e.Time.IsZero() && ns > 0 {
		at = strconv.FormatInt(ns, 10)
	}
	whole := string(body)
	r := otlpRecord{
		Time: at, Observed: at, SeverityNumber: sev.otel, SeverityText: sev.text, EventName: "belay." + string(e.Type),
		Body: otlpValue{String: &whole},
		Attributes: []otlpAttribute{number("belay.event.seq", e.Seq), text("belay.event.id", e.ID),
			text("belay.event.type", string(e.Type))},
	}
	for _, a := range []struct{ key, value string }{
		{"belay.invocation", e.Invocation}, {"belay.phase", string(e.Phase)}, {"belay.runtime", e.Runtime},
		{"belay.session", e.Session},
		{"belay.agent", e.Agent}, {"belay.run", e.Run}, {"belay.user", e.User}, {"belay.tool", e.Tool},
		{"belay.hook.name", e.Binding},
		{"belay.hook.digest", e.HookDigest}, {"belay.hook.tier", string(e.Tier)}, {"belay.hook.pass", string(e.Pass)},
		{"belay.decision", e.Decision}, {"belay.decided_by", e.DecidedBy}, {"belay.kind", string(e.Kind)},
		{"belay.enforced", string(e.Enforced)},
		{"belay.policy_revision", e.PolicyRevision}, {"belay.reason", e.Reason},
		// the same in the names of the OpenTelemetry GenAI conventions, v0.1.0
		{"gen_ai.conversation.id", e.Session}, {"gen_ai.agent.name", e.Agent}, {"gen_ai.tool.name", e.Tool},
	} {
		if a.value != "" {
			r.Attributes = append(r.Attributes, text(a.key, a.value))
		}
	}
	if what, id := subject(e); id != "" {
		r.Attributes = append(r.Attributes, text("belay."+what, id))
	}
	if e.Fuel > 0 {
		r.Attributes = append(r.Attributes, number("belay.fuel", e.Fuel))
	}
	if e.DurationUS > 0 {
		r.Attributes = append(r.Attributes, number("belay.duration_us", e.DurationUS))
	}
	r.TraceID, r.SpanID, r.Flags = traceOf(e.Traceparent)
	return r, nil
}

// traceOf takes a W3C traceparent apart; other text gives nothing.
func traceOf(s string) (trace, span string, flags int) {
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return "", "", 0
	}
	var f [1]byte
	for _, part := range []string{s[3:35], s[36:52]} {
		if _, err := hex.DecodeString(part); err != nil {
			return "", "", 0
		}
	}
	if _, err := hex.Decode(f[:], []byte(s[53:55])); err != nil {
		return "", "", 0
	}
	return s[3:35], s[36:52], int(f[0])
}
