package server

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/go-json-experiment/json/jsontext"
)

// A client that does not keep up loses invocations and is told how many. The
// kernel never waits for it, and records nothing once the last client has gone.
func TestRecorders(t *testing.T) {
	var recorders Recorders
	if recorders.Wants(nil) {
		t.Error("something is recorded that nobody asked for")
	}
	slow, fast := recorders.begin(), recorders.begin()
	if slow == nil || fast == nil || !recorders.Wants(nil) {
		t.Fatal("two clients cannot record")
	}
	if recorders.begin() != nil {
		t.Error("there is no end to clients")
	}
	for range recorderQueue + 3 {
		recorders.Recorded(&kernel.Recording{})
		<-fast.queue
	}
	if n, m := slow.dropped.Load(), fast.dropped.Load(); n != 3 || m != 0 {
		t.Errorf("dropped %d and %d", n, m)
	}
	recorders.end(slow)
	if !recorders.Wants(nil) {
		t.Error("the other one does not record any more")
	}
	recorders.end(fast)
	if recorders.Wants(nil) {
		t.Error("something is recorded for nobody")
	}
}

func TestSpan(t *testing.T) {
	for query, ok := range map[string]bool{
		"seconds=1&count=1": true, "seconds=86400&count=1000000": true, "": false, "seconds=1": false,
		"seconds=0&count=1": false, "seconds=86401&count=1": false,
		"seconds=1&count=1000001": false, "seconds=1&seconds=2&count=1": false, "seconds=1&count=1&x=1": false,
		"seconds=1h&count=1": false,
	} {
		if _, _, err := span(parameters(query, []string{"seconds", "count"})); (err == nil) != ok {
			t.Errorf("%q: %v", query, err)
		}
	}
}

// A recording that ends includes the decisions that were made in time and wait
// to be written.
func TestRecordingTakesWhatWaits(t *testing.T) {
	var recorders Recorders
	sub := recorders.begin()
	for range 20 {
		recorders.Recorded(&kernel.Recording{
			Chain: &kernel.RecordedChain{Revision: "sha256:aa"}, Chained: phases.Verdict{Decision: phases.Allow},
			Invocation: phases.Invocation{ID: "01973b9e-7a00-7000-8000-000000000001", Phase: phases.PreTool, Runtime: "custom",
				Session: "s", Action: jsontext.Value(`{"tool":"exec","args":{}}`), Time: time.Now()},
		})
	}
	var out bytes.Buffer
	s := &Server{notifications: newNotifications()}
	if err := s.record(&out, httptest.NewRequest("GET", "/v1/recording", nil), sub, time.NewTimer(0), 18); err != nil {
		t.Fatal(err)
	}
	rd, err := recording.NewReader(&out, "daemon")
	for err == nil {
		_, _, err = rd.Next()
	}
	if !errors.Is(err, io.EOF) || rd.End().Runs != 18 {
		t.Errorf("%v, %d invocations", err, rd.End().Runs)
	}
}
