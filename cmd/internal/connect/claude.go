package connect

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

// claudeHook is one handler in the exec form: no shell reads it, and nothing of a repository's
// settings reaches how the program starts.
type claudeHook struct {
	Type      string   `json:"type"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	Timeout   int      `json:"timeout"` // seconds
	OnFailure string   `json:"onFailure"`
}

type claudeGroup struct {
	Matcher string       `json:"matcher,omitzero"`
	Hooks   []claudeHook `json:"hooks"`
}

// claudeEvents are the events that belay is registered for: all but WorktreeCreate, whose hook has
// to make the worktree.
func claudeEvents() []string {
	return slices.DeleteFunc(claudecode.Events(), func(e string) bool { return e == "WorktreeCreate" })
}

func claudeGroups(h Hook) groups {
	return groups{
		runtime: claudecode.Runtime,
		events:  claudeEvents(),
		group: func(event string) (jsontext.Value, error) {
			g := claudeGroup{Hooks: []claudeHook{{Type: "command", Command: h.Program,
				Args: h.args(claudecode.Runtime, event), OnFailure: "block"}}}
			g.Hooks[0].Timeout = int(claudecode.New().Table().Wait(event) / time.Second)
			switch event {
			case "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest":
				g.Matcher = "*"
			}
			return text(g)
		},
		command: claudeCommand,
	}
}

// claudeCommand returns the words that a handler starts. A request to belay's daemon, the form of
// older settings, counts as belay-hook.
func claudeCommand(src []byte, h *jsonedit.Node) []string {
	if url := str(src, h, "url"); str(src, h, "type") == "http" && strings.HasSuffix(url, "/adapters/claude-code") {
		return []string{"belay-hook", "--runtime", claudecode.Runtime}
	}
	program := str(src, h, "command")
	if args, ok := list(src, h, "args"); ok {
		return append([]string{program}, args...)
	}
	return split(program)
}

// claude returns what the settings become: connected, or without belay's entries. nil is no file,
// before and after.
func claude(src []byte, level Level, h Hook, connected bool) (out []byte, notes []string, err error) {
	g := claudeGroups(h)
	if !connected {
		if src == nil {
			return nil, nil, nil
		}
		if out, err = g.disconnect(src); err != nil || level != Managed {
			return out, nil, err
		}
		return unpin(out)
	}
	if out, err = g.connect(src); err != nil || level != Managed {
		return out, nil, err
	}
	out, err = putPins(out, h)
	return out, nil, err
}
