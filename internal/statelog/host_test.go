package statelog_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/phases"
)

// state makes a state directory with a configuration.
func state(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "belay.yaml"), config)
	return dir
}

// open opens a host, whose log is what these tests are about.
func open(t *testing.T, dir string, o belay.Options) *belay.Belay {
	t.Helper()
	b, err := belay.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func exec(command string) phases.Invocation {
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: "s-1", Agent: "coder", Run: "r-1",
		Action: jsontext.Value(`{"tool":"exec","call_id":"c-1","args":{"command":"` + command + `"}}`)}
}

const guarded = `version: belay/v1
hooks:
  - name: guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse, pattern_match]
`

func verified(t *testing.T, b *belay.Belay) statelog.Report {
	t.Helper()
	r, err := statelog.Of(b.Log()).Verify(t.Context(), statelog.Evidence{})
	if err != nil || r.Wrong != nil {
		t.Fatalf("verify: %+v, %v", r.Wrong, err)
	}
	return r
}

// withSinks makes a state directory whose belay.yaml has these sinks; DIR in them is a
// directory beside it, which is returned.
func withSinks(t *testing.T, sinks string) (dir, beside string) {
	t.Helper()
	beside = t.TempDir()
	dir = state(t, guarded+"events:\n  sinks:\n"+strings.ReplaceAll(sinks, "DIR", beside))
	return dir, beside
}
