package mcptools_test

import (
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/mcptools"
)

// A server that no call needs any more is ended, and the next call starts it again.
func TestServerWithoutCallsIsEnded(t *testing.T) {
	const idle = 200 * time.Millisecond
	set := mcptools.New([]mcptools.Server{stdio("s", "BELAY_TEST_MCP")}, mcptools.Options{Idle: idle,
		LookupEnv: func(string) (string, bool) { return "serves", true }})
	t.Cleanup(func() { set.Close() })
	first := said(t, set, "pid", `{}`)
	begin := time.Now()
	if again := said(t, set, "pid", `{}`); again != first && time.Since(begin) < idle { // a busy machine waits longer
		t.Errorf("a server in use was started anew: %s, %s", first, again)
	}
	ends(t, "the server", first)
	if later := said(t, set, "pid", `{}`); later == first || !alive(later) {
		t.Errorf("%s after %s", later, first)
	}
}
