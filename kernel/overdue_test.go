package kernel

import (
	"testing"
	"time"
)

// A turn that is overdue makes no calls any more; one that waits for a call is not overdue.
func TestOverdue(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	s := &turnScope{began: began}
	if more := s.overdue(time.Hour); more <= 58*time.Minute || more > 59*time.Minute {
		t.Errorf("%v of an hour less a minute", more)
	}
	done, ok := s.wait()
	if more := s.overdue(time.Second); !ok || more != overdueLook {
		t.Errorf("it waits: %v, %v", ok, more)
	}
	done()
	if more := s.overdue(time.Second); more != 0 {
		t.Errorf("overdue: %v", more)
	}
	if _, ok := s.wait(); ok {
		t.Error("a turn that was left behind makes a call")
	}
	s = &turnScope{began: began, waited: time.Minute}
	if more := s.overdue(time.Hour); more < 59*time.Minute {
		t.Errorf("time in calls is counted: %v", more)
	}
}
