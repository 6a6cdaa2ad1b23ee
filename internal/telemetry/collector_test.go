package telemetry

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	colmetric "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP receiver over HTTP with protobuf.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	raw     bytes.Buffer // every byte that came, uncompressed
	spans   []*tracepb.Span
	metrics map[string]*metrics.Metric // the last state of each
	service string
}

func newCollector(t testing.TB) *collector {
	c := &collector{metrics: map[string]*metrics.Metric{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var req coltrace.ExportTraceServiceRequest
		if !c.receive(t, w, r, &req) {
			return
		}
		for _, rs := range req.ResourceSpans {
			c.service = attr(rs.Resource.Attributes, "service.name")
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		c.mu.Unlock()
		answer(w, &coltrace.ExportTraceServiceResponse{})
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		var req colmetric.ExportMetricsServiceRequest
		if !c.receive(t, w, r, &req) {
			return
		}
		for _, rm := range req.ResourceMetrics {
			for _, sm := range rm.ScopeMetrics {
				for _, m := range sm.Metrics {
					c.metrics[m.Name] = m
				}
			}
		}
		c.mu.Unlock()
		answer(w, &colmetric.ExportMetricsServiceResponse{})
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

// receive decodes a request; with true, c.mu is held.
func (c *collector) receive(t testing.TB, w http.ResponseWriter, r *http.Request, into proto.Message) bool {
	if got := r.Header.Get("Content-Type"); got != "application/x-protobuf" {
		t.Errorf("a request of type %q", got)
	}
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			http.Error(w, "gzip", http.StatusBadRequest)
			return false
		}
		in = z
	}
	b, err := io.ReadAll(in)
	if err == nil {
		err = proto.Unmarshal(b, into)
	}
	if err != nil {
		t.Error(err)
		http.Error(w, "protobuf", http.StatusBadRequest)
		return false
	}
	c.mu.Lock()
	c.raw.Write(b)
	return true
}

func answer(w http.ResponseWriter, m proto.Message) {
	b, _ := proto.Marshal(m)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(b)
}

func attr(list []*common.KeyValue, key string) string {
	for _, a := range list {
		if a.Key == key {
			switch v := a.Value.Value.(type) {
			case *common.AnyValue_StringValue:
				return v.StringValue
			case *common.AnyValue_BoolValue:
				if v.BoolValue {
					return "true"
				}
				return "false"
			}
		}
	}
	return ""
}

func (c *collector) span(t *testing.T, name string) *tracepb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *tracepb.Span
	for _, s := range c.spans {
		if s.Name == name {
			if found != nil {
				t.Errorf("more than one span %q", name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("no span %q among %d", name, len(c.spans))
	}
	return found
}

// points returns the values of a counter by the values of some of its attributes.
func (c *collector) points(t *testing.T, name string, by ...string) map[string]int64 {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.metrics[name]
	if m == nil {
		t.Fatalf("no metric %q", name)
	}
	out := map[string]int64{}
	key := func(list []*common.KeyValue) (s string) {
		for i, b := range by {
			if i > 0 {
				s += " "
			}
			s += attr(list, b)
		}
		return s
	}
	for _, p := range m.GetSum().GetDataPoints() {
		out[key(p.Attributes)] += p.GetAsInt()
	}
	for _, p := range m.GetGauge().GetDataPoints() {
		out[key(p.Attributes)] += p.GetAsInt()
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		out[key(p.Attributes)] += int64(p.Count)
	}
	return out
}

func id(b []byte) string { return hex.EncodeToString(b) }
