package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Of recordings of live traffic.
const (
	maxRecorders  = 2  // clients that record at once
	recorderQueue = 64 // invocations that wait for a client; more are dropped, and counted
	maxRecordTime = 24 * time.Hour
	maxRecordRuns = 1_000_000
)

// Recorders hands a kernel's decisions to the clients that are recording, and costs
// nothing without one. It is the kernel's Recorder and safe for concurrent use.
type Recorders struct {
	on   atomic.Int32
	mu   sync.Mutex
	subs map[*recorder]bool
}

type recorder struct {
	queue   chan *kernel.Recording
	dropped atomic.Int64
}

// Wants implements kernel.Recorder.
func (t *Recorders) Wants(*phases.Invocation) bool { return t.on.Load() > 0 }

// Recorded implements kernel.Recorder. A client that does not keep up loses
// invocations; the kernel never waits for it.
func (t *Recorders) Recorded(r *kernel.Recording) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.subs {
		select {
		case s.queue <- r:
		default:
			s.dropped.Add(1)
		}
	}
}

// begin adds a client; nil when there are enough.
func (t *Recorders) begin() *recorder {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.subs) >= maxRecorders {
		return nil
	}
	if t.subs == nil {
		t.subs = map[*recorder]bool{}
	}
	s := &recorder{queue: make(chan *kernel.Recording, recorderQueue)}
	t.subs[s] = true
	t.on.Store(int32(len(t.subs)))
	return s
}

func (t *Recorders) end(s *recorder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subs, s)
	t.on.Store(int32(len(t.subs)))
}

// span reads how long and how many; both must be given, so that no recording is
// forgotten.
func span(p *params) (time.Duration, int, error) {
	for _, name := range []string{"seconds", "count"} {
		if !p.has(name) {
			p.refuse(name, "must be given")
		}
	}
	d := time.Duration(p.number("seconds", 1, uint64(maxRecordTime/time.Second))) * time.Second
	return d, int(p.number("count", 1, maxRecordRuns)), p.err
}

// recording answers GET /v1/recording: decisions from now on, complete and not
// redacted, as a recording that ends by itself. It logs its begin first.
func (s *Server) recording(w http.ResponseWriter, r *http.Request) {
	duration, count, err := span(given(r))
	if err != nil {
		s.invalidRequest(w, r, err)
		return
	}
	var src jsontext.Value
	if enc := r.Header.Values(daemonapi.StatementHeader); len(enc) > 0 { // too long for a parameter
		if src, err = base64.RawURLEncoding.Strict().DecodeString(enc[0]); err != nil || len(enc) > 1 || len(src) == 0 {
			s.invalidRequest(w, r, errors.New("the header "+daemonapi.StatementHeader+" must be one statement in base64url"))
			return
		}
	}
	order, ok := s.order(w, r, src)
	if !ok {
		return
	}
	wanted := kernel.RecordOrder{Seconds: int64(duration / time.Second), Count: int64(count),
		Destination: given(r).text("destination")}
	var sub *recorder
	if s.o.Recorders != nil {
		sub = s.o.Recorders.begin()
	}
	if sub == nil {
		s.problem(w, r, http.StatusServiceUnavailable,
			wire.ProblemBody{Code: wire.CodeOverloaded, Message: "nothing more can be recorded now",
				Hint: fmt.Sprintf("At most %d clients record at once.", maxRecorders)})
		return
	}
	defer s.o.Recorders.end(sub)
	text := fmt.Sprintf("recording of originals begun: at most %d invocations within %s", count, duration)
	if err := s.host.BeginRecording(r.Context(), wanted, order, text); err != nil {
		if !s.refuseOrder(w, r, err) {
			s.unavailable(w, r, err)
		}
		return
	}
	s.log.LogAttrs(r.Context(), slog.LevelWarn, text)
	w.Header().Set("Content-Type", daemonapi.RecordingType)
	w.WriteHeader(http.StatusOK)
	err = s.record(&deadlineWriter{w: w, rc: http.NewResponseController(w)}, r, sub, time.NewTimer(duration), count)
	s.log.LogAttrs(r.Context(), slog.LevelWarn, "recording of originals ended", slog.Any("error", err))
}

func (s *Server) record(w io.Writer, r *http.Request, sub *recorder, timer *time.Timer, count int) error {
	defer timer.Stop()
	rec, err := recording.NewWriter(w, recording.Header{Source: recording.SourceDaemon, CostTable: loader.CostTable})
	if err != nil {
		return err
	}
	for rec.Runs() < count {
		select {
		case one := <-sub.queue:
			if err := rec.Record(one); err != nil {
				return err
			}
			continue
		case <-timer.C:
		case <-s.notifications.done():
		case <-r.Context().Done():
			return r.Context().Err()
		}
		break
	}
	for rec.Runs() < count && len(sub.queue) > 0 { // decided in time, and still queued
		if err := rec.Record(<-sub.queue); err != nil {
			return err
		}
	}
	rec.Dropped(int(sub.dropped.Load()))
	return rec.Close()
}

// deadlineWriter lets a client go that takes nothing for writeTime.
type deadlineWriter struct {
	w  io.Writer
	rc *http.ResponseController
}

func (d *deadlineWriter) Write(b []byte) (int, error) {
	_ = d.rc.SetWriteDeadline(time.Now().Add(writeTime))
	n, err := d.w.Write(b)
	if err == nil {
		err = d.rc.Flush()
	}
	return n, err
}
