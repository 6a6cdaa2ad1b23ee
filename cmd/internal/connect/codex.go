package connect

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/internal/jsonedit"
	"github.com/belay-hooks/belay/phases"
)

// codexEvent is an event of Codex, as it is registered.
type codexEvent struct {
	name, label string // label: how the stored trust calls it
	timeout     int    // seconds
}

// codexEvents are all events of Codex.
func codexEvents() (out []codexEvent) {
	table := codex.New().Table()
	for _, name := range codex.Events() {
		out = append(out, codexEvent{name, snake(name), int(table.Wait(name) / time.Second)})
	}
	return out
}

// snake writes PreToolUse as pre_tool_use.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

type codexHook struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

type codexGroup struct {
	Hooks []codexHook `json:"hooks"`
}

// command is the line that Codex gives to a shell.
func (e codexEvent) command(h Hook) (string, error) {
	return shellLine(append([]string{h.Program}, h.args(codex.Runtime, e.name)...))
}

func codexGroups(h Hook) groups {
	g := groups{
		runtime: codex.Runtime,
		command: func(src []byte, n *jsonedit.Node) []string { return split(str(src, n, "command")) },
		group: func(event string) (jsontext.Value, error) {
			for _, e := range codexEvents() {
				if e.name == event {
					line, err := e.command(h)
					if err != nil {
						return nil, err
					}
					return text(codexGroup{Hooks: []codexHook{{Type: "command", Command: line, Timeout: e.timeout}}})
				}
			}
			return nil, fmt.Errorf("connect: Codex has no event %s", event)
		},
	}
	for _, e := range codexEvents() {
		g.events = append(g.events, e.name)
	}
	return g
}

// codexHooks returns what hooks.json becomes.
func codexHooks(src []byte, h Hook, connected bool) ([]byte, error) {
	if connected {
		return codexGroups(h).connect(src)
	}
	if src == nil {
		return nil, nil
	}
	return codexGroups(h).disconnect(src)
}

// moved tells of hooks of others that stand after belay's: Codex knows a hook by its place, and asks
// for their trust again once belay's are gone.
func moved(src []byte) (notes []string) {
	root, err := parse(src)
	if err != nil {
		return nil
	}
	g := codexGroups(Hook{})
	for _, event := range members(root.Member("hooks")) {
		list := root.Member("hooks").Member(event)
		own := g.owned(src, list)
		if len(own) > 0 && own[0].group+len(own) < len(list.Elements) {
			notes = append(notes, "hooks on "+event+" move up in the file: Codex asks for their trust again (/hooks)")
		}
	}
	return notes
}

// trust is one entry of the trust that Codex stores in config.toml: it starts a hook only while
// the hash of what the hook says is there under the hook's place.
type trust struct{ key, hash string }

// trusts returns the entries for belay's hooks in a hooks.json that stands at path.
func trusts(path string, src []byte, h Hook) ([]trust, error) {
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	g := codexGroups(h)
	var out []trust
	for _, e := range codexEvents() {
		line, err := e.command(h)
		if err != nil {
			return nil, err
		}
		for _, p := range g.owned(src, root.Member("hooks").Member(e.name)) {
			out = append(out, trust{key: fmt.Sprintf("%s:%s:%d:%d", path, e.label, p.group, p.handler),
				hash: trustHash(e.label, line, e.timeout)})
		}
	}
	return out, nil
}

// trustHash is the hash by which Codex 0.169.0 knows a command hook without a matcher: SHA-256 of
// the entry as JSON with sorted names.
func trustHash(label, command string, timeout int) string {
	quote := func(s string) string {
		q, err := jsontext.AppendQuote(nil, s)
		if err != nil { // paths are checked before
			return `""`
		}
		return string(q)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"event_name":%s,"hooks":[{"async":false,"command":%s,"timeout":%d,"type":"command"}]}`,
		quote(label), quote(command), timeout)
	return phases.ByteDigest([]byte(b.String()))
}
