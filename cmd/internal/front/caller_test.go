package front

import (
	"errors"
	"testing"
	"time"
)

// Callers without a server are forgotten, also those for whom none could be opened, once the reason is old. Those who
// are served, refused just now or being looked at are remembered.
func TestCallersWithoutAServerAreForgotten(t *testing.T) {
	now := time.Now()
	refused := errors.New("users.max")
	f := &Front{callers: map[int]*caller{
		1: {uid: 1},
		2: {uid: 2, tenant: &tenant{why: refused, until: now.Add(-time.Millisecond)}},
		3: {uid: 3, tenant: &tenant{}},
		4: {uid: 4, tenant: &tenant{why: refused, until: now.Add(time.Minute)}},
		5: {uid: 5, looking: true},
		6: {uid: 6, looking: true, tenant: &tenant{why: refused, until: now.Add(-time.Millisecond)}},
	}}
	f.forget(now)
	for uid := 1; uid <= 6; uid++ {
		if _, ok := f.callers[uid]; ok != (uid > 2) {
			t.Errorf("uid %d: remembered %v", uid, ok)
		}
	}
}
