package suite

import (
	_ "embed"
	"slices"
)

//go:embed testdata/sessions/claude-code.jsonl
var demoSession []byte

//go:embed testdata/sessions/belay.yaml
var demoConfig []byte

// DemoSession returns a recorded session of Claude Code and of the model gateway
// beside it, one line an event (the lines that `belay demo` plays), and the
// configuration that it is played against. The slices are the caller's.
func DemoSession() (session, config []byte) {
	return slices.Clone(demoSession), slices.Clone(demoConfig)
}
