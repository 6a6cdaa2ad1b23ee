package connect

import (
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/adapters/opencode"
)

// Tested returns the versions of a runtime's client that belay was run against.
func Tested(name string) []string {
	switch name {
	case claudecode.Runtime:
		return []string{"2.1.329", "2.1.330"}
	case codex.Runtime:
		return []string{"0.169.0"}
	case geminicli.Runtime:
		return []string{"0.61.0"}
	case openclaw.Runtime:
		return []string{"2026.9.6"}
	case opencode.Runtime:
		return []string{"1.18.33"}
	}
	return nil
}
