package connect

import (
	"fmt"
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

// pin is a member of the managed settings that has to say what belay needs.
type pin struct {
	path  []string
	value string // JSON
	fits  func(have string) bool
	why   string
}

// claudePins are the members beside the hooks that hold them: no hook but the managed ones runs,
// and the variables that could lead a hook elsewhere are those of the managed settings.
func claudePins(h Hook) ([]pin, error) {
	pins := []pin{{path: []string{"allowManagedHooksOnly"}, value: "true",
		why: "a hook of the repository could change a command after belay has judged it"}}
	if h.State != "" {
		dir, err := text(h.State)
		if err != nil {
			return nil, err
		}
		pins = append(pins, pin{path: []string{"env", "BELAY_HOME"}, value: string(dir),
			why: "a repository's settings could name another state directory"})
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		pins = append(pins, pin{path: []string{"env", name}, value: `"localhost,127.0.0.1,::1"`, fits: loopback,
			why: "a proxy that a repository's settings name could answer for the daemon"})
	}
	return pins, nil
}

// loopback reports whether a list of hosts without a proxy, as JSON, covers this machine.
func loopback(have string) bool {
	var hosts []string
	for _, h := range strings.Split(strings.Trim(have, `"`), ",") {
		hosts = append(hosts, strings.TrimSpace(h))
	}
	return slices.Contains(hosts, "*") || slices.Contains(hosts, "127.0.0.1") && slices.Contains(hosts, "localhost")
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
	pins, err := claudePins(h)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range pins {
		if out, err = p.put(out); err != nil {
			return nil, nil, err
		}
	}
	return out, nil, nil
}

// put adds the member. One that is belay's own and says another thing is made anew; one of others
// that stands against it is an ErrConflict.
func (p pin) put(src []byte) ([]byte, error) {
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	n := root
	for _, name := range p.path {
		n = n.Member(name)
	}
	if n != nil {
		have := string(src[n.Start:n.End])
		if equal(jsontext.Value(have), jsontext.Value(p.value)) || p.fits != nil && p.fits(have) {
			return src, nil
		}
		without, err := jsonedit.Unput(src, p.path)
		if err != nil {
			return nil, err
		}
		if string(without) == string(src) {
			at := strings.Join(p.path, ".")
			return nil, conflict(jsonedit.Line(src, n.Start), fmt.Sprintf("%s is %s: %s", at, have, p.why),
				fmt.Sprintf("Write %s there, or take the member out; belay changes only its own entries.", p.value))
		}
		return jsonedit.Replace(src, n.Start, n.End, jsontext.Value(p.value)), nil
	}
	return jsonedit.Put(src, p.path, jsontext.Value(p.value), true)
}

// unpin takes out what put added, in the reverse order.
func unpin(src []byte) (out []byte, notes []string, err error) {
	pins, err := claudePins(Hook{State: "/"})
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(pins)
	for _, p := range pins {
		if src == nil {
			break
		}
		if src, err = jsonedit.Unput(src, p.path); err != nil {
			return nil, nil, err
		}
		last := p.path[len(p.path)-1]
		if root, _ := parse(src); root != nil && (last == "BELAY_HOME" || len(p.path) == 1) &&
			(root.Member(last) != nil || root.Member("env").Member(last) != nil) {
			notes = append(notes, last+" stays: it does not look like belay's own entry")
		}
	}
	return src, notes, nil
}
