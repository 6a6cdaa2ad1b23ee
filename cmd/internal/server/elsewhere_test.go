package server_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// shared is a host whose store another kernel shares, which decides once and says so.
type shared struct {
	server.Host
	looked  chan struct{} // after each look
	decided atomic.Bool
	news    chan struct{}
}

func (s *shared) Changed() <-chan struct{} { return s.news }

func (s *shared) Approval(ctx context.Context, id string) (approvals.Item, error) {
	it, err := s.Host.Approval(ctx, id)
	if s.decided.Load() {
		it.State = approvals.Approved
	}
	select {
	case s.looked <- struct{}{}:
	default:
	}
	return it, err
}

// Who waits for a person is told of a decision by another kernel when that is told, and not only at the next look, half
// a second later.
func TestAWaitEndsWithADecisionElsewhere(t *testing.T) {
	_, config := reviewer(t)
	var host *shared
	d := startDaemon(t, withConfig(config), withHost(func(h server.Host) server.Host {
		host = &shared{Host: h, looked: make(chan struct{}), news: make(chan struct{})}
		return host
	}))
	c := dial(t, d.dir)
	v := ask(t, c)
	if v.Approval == nil {
		t.Fatalf("%+v", v)
	}
	const tries = 5 // a busy machine may be late
	took := time.Hour
	for n := 0; n < tries && took > 400*time.Millisecond; n++ {
		host.decided.Store(false)
		host.news = make(chan struct{})
		told := make(chan time.Time, 1)
		go func() {
			it, err := c.Approval(t.Context(), v.Approval.ID, time.Minute)
			if err != nil || it.State != approvals.Approved {
				t.Errorf("%+v, %v", it, err)
			}
			told <- time.Now()
		}()
		<-host.looked // before it waits
		<-host.looked // a first look as it waits
		begun := time.Now()
		host.decided.Store(true)
		close(host.news)
		took = (<-told).Sub(begun)
	}
	t.Logf("after %v", took)
	if took > 400*time.Millisecond {
		t.Errorf("a decision elsewhere is heard of after %v", took)
	}
}
