package cli

import (
	"testing"

	"github.com/belay-hooks/belay/client"
)

// `belay status` exits with 1 while belay is NOT READY, in text and as JSON.
func TestReadinessIsTheExitStatus(t *testing.T) {
	for name, c := range map[string]struct {
		st    client.Status
		ready bool
	}{
		"ready":       {client.Status{Healthy: true}, true},
		"not healthy": {client.Status{}, false},
		"latched":     {client.Status{Healthy: true, Latches: []client.Latch{{}}}, false},
	} {
		if err := readiness(&c.st); (err == nil) != c.ready {
			t.Errorf("%s: %v", name, err)
		}
	}
}
