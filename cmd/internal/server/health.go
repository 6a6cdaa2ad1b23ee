package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
)

const (
	healthFor = time.Second // an answer about health is found out again when it is older
	// the same of the status, and of health that is red: what other processes have changed shows soon
	statusFor  = healthFor / 10
	healthWait = 2 * time.Second  // for a newer one; a command waits 3 s for a daemon
	healthOld  = 10 * time.Second // an answer that is older says nothing any more: that is a failure
)

var errNoStatus = errors.New("the store does not answer: nothing is known of the state directory yet")

// found is what a look at the host came to.
type found struct {
	status wire.Status
	hooks  []wire.Hook
	own    []wire.Latch // of those of status, what a tenant sees
	err    error        // of status, or of own
}

// newHealth returns the health of the host. Callers share one look at it, which
// alone waits for the store and for locks.
func newHealth(h Host, ofTenant bool) *shared[found] {
	return newShared(func(ctx context.Context) (f found) {
		defer func() {
			if p := recover(); p != nil {
				f = found{err: fmt.Errorf("%w: panic: %v", kernel.ErrUnavailable, p)}
			}
		}()
		f.status, f.err = h.Status(ctx)
		f.hooks = h.Bindings()
		if ofTenant && f.err == nil {
			f.own, f.err = ownLatches(ctx, h, f.status.Latches)
			if errors.Is(f.err, kernel.ErrTampered) { // which is among the problems
				f.err = nil
			}
		}
		return f
	}, sharing{wait: healthWait, limit: writeTime})
}

// changed tells those who follow the log, and those who ask for the status, of a change.
func (s *Server) changed() {
	s.health.changed()
	s.notifications.tell()
}

// healthz says whether the records can be written, and nothing else: it takes no token.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	a, ok := s.health.recent(r.Context(), healthFor)
	if ok && (a.value.err != nil || !a.value.status.Healthy) {
		a, ok = s.health.recent(r.Context(), statusFor)
	}
	age := a.age()
	if !ok {
		a.value.err, age = errNoStatus, time.Since(s.since)
	}
	now := healthOf(a.value.status, a.value.err)
	now.Age = age.Milliseconds()
	if age > healthOld {
		now.OK, now.State = false, wire.HealthFailing
	}
	status := http.StatusOK
	if !now.OK {
		status = http.StatusServiceUnavailable
	}
	s.write(w, r, status, now)
}

func healthOf(st wire.Status, err error) wire.Health {
	h := wire.Health{OK: err == nil && st.Healthy, State: st.Health, Sinks: []wire.SinkHealth{}}
	if !h.OK {
		h.State = wire.HealthFailing
	}
	for _, k := range st.Sinks {
		h.Sinks = append(h.Sinks, wire.SinkHealth{Kind: k.Kind, Durable: k.Durable, OK: k.OK, Trouble: k.Trouble})
	}
	return h
}

// look returns the last known health of the host, and its age. The error is
// kernel.ErrUnavailable.
func (s *Server) look(ctx context.Context) (found, time.Duration, error) {
	a, ok := s.health.current(ctx, statusFor)
	if !ok {
		return found{}, 0, fmt.Errorf("%w: %w", kernel.ErrUnavailable, errNoStatus)
	}
	f, age := a.value, a.age()
	// callers add theirs
	f.status.Problems, f.status.Warnings = slices.Clip(f.status.Problems), slices.Clip(f.status.Warnings)
	if f.err == nil && age > healthOld {
		f.status.Healthy, f.status.Health = false, wire.HealthFailing
		f.status.Problems = append([]string{fmt.Sprintf("the store does not answer: what stands here is %v old",
			age.Round(time.Second))}, f.status.Problems...)
	}
	return f, age, f.err
}
