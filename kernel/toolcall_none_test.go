package kernel_test

import (
	"testing"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Where the configuration in use has no tools a hook is told so, and none runs.
func TestAConfigurationWithoutTools(t *testing.T) {
	for _, none := range []bool{true, false} {
		var got []answer
		x := &tools{}
		h := newHost(t, []hook{toolAsker(&got, probeCall)}, withTools(x), func(c *kernel.Config, _ *kernel.Options) {
			c.NoTools = none
		})
		h.invoke(t, invocation(phases.PreTool))
		if len(got) != 1 || (got[0].code == int64(hostcalls.Unavailable)) != none || (len(x.calls) == 0) != none {
			t.Errorf("no tools %v: %+v, ran %d times", none, got, len(x.calls))
		}
	}
}
