package suite_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/suite"
)

// builtinHooks are the hooks that come with belay, and an engine for them.
func builtinHooks(t *testing.T) (*builtin.Set, *suite.Engine) {
	t.Helper()
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return set, e
}
