package sandbox

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A context whose timer starts late is a context with a deadline in all other ways.
func TestDeadlineContext(t *testing.T) {
	parent, giveUp := context.WithCancelCause(context.Background())
	at := time.Now().Add(time.Hour)
	c := &deadlineContext{Context: parent, at: at}
	if d, ok := c.Deadline(); !ok || !d.Equal(at) || c.Err() != nil || c.timed != nil {
		t.Errorf("%v, %v", d, c.Err())
	}
	child, cancel := context.WithCancel(c)
	defer cancel()
	if c.timed == nil || child.Err() != nil || c.Err() != nil {
		t.Error("a child is over before its parent")
	}
	why := errors.New("why")
	giveUp(why)
	<-c.Done()
	<-child.Done()
	if !errors.Is(c.Err(), context.Canceled) || !errors.Is(context.Cause(c), why) ||
		!errors.Is(context.Cause(child), why) {
		t.Errorf("%v %v %v", c.Err(), context.Cause(c), context.Cause(child))
	}
	c = &deadlineContext{Context: parent, at: at}
	if !errors.Is(c.Err(), context.Canceled) || !errors.Is(context.Cause(c), why) {
		t.Errorf("without a look at Done: %v %v", c.Err(), context.Cause(c))
	}

	past := &deadlineContext{Context: context.Background(), at: time.Now().Add(-time.Second)}
	if !errors.Is(past.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(past), context.DeadlineExceeded) ||
		past.timed != nil {
		t.Errorf("past its deadline: %v", past.Err())
	}
	<-past.Done()
	if !errors.Is(past.Err(), context.DeadlineExceeded) {
		t.Errorf("and after a look: %v", past.Err())
	}

	sooner, cancel := context.WithDeadline(context.Background(), at.Add(-time.Minute))
	defer cancel()
	if d, ok := (&deadlineContext{Context: sooner, at: at}).Deadline(); !ok || !d.Equal(at.Add(-time.Minute)) {
		t.Errorf("the parent's deadline is sooner, %v is not", d)
	}

	for _, looked := range []bool{false, true} {
		c := &deadlineContext{Context: context.Background(), at: at}
		if looked {
			_ = c.Done()
		}
		c.end()
		if <-c.Done(); !errors.Is(c.Err(), context.Canceled) {
			t.Errorf("looked at before it ended: %v; %v", looked, c.Err())
		}
	}
}
