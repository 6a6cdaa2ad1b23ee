package cli

import (
	"testing"

	"github.com/belay-hooks/belay/client/wire"
)

// `belay status` exits with 1 while belay is NOT READY, in text and as JSON.
func TestReadinessIsTheExitStatus(t *testing.T) {
	for name, c := range map[string]struct {
		st    wire.Status
		ready bool
	}{
		"ready":       {wire.Status{Healthy: true}, true},
		"not healthy": {wire.Status{}, false},
		"latched":     {wire.Status{Healthy: true, Latches: []wire.Latch{{}}}, false},
	} {
		if err := readiness(&c.st); (err == nil) != c.ready {
			t.Errorf("%s: %v", name, err)
		}
	}
}
