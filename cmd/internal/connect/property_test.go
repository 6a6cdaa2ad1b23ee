package connect_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// place is where the tests' settings lie.
func place() connect.Place {
	return connect.Place{Claude: "/home/dev/.claude", Codex: "/home/dev/.codex", Cursor: "/home/dev/.cursor",
		Gemini: "/home/dev/.gemini", OpenCode: "/home/dev/.config/opencode", OpenClaw: "/home/dev/.openclaw",
		OpenClawConfig: "/home/dev/.openclaw/openclaw.json", Project: "/src/app", Root: "/image"}
}

func hook() connect.Hook {
	return connect.Hook{Program: "/usr/local/bin/belay-hook", State: "/home/dev/.local/state/belay"}
}

// disk is a file system of some files.
type disk map[string][]byte

func (d disk) read(path string) ([]byte, error) {
	b, ok := d[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return b, nil
}

// do applies a plan, and returns what it would have written.
func (d disk) do(name string, level connect.Level, h connect.Hook, connected bool) (connect.Plan, error) {
	plan, err := connect.Make(name, level, place(), h, connected, d.read)
	if err != nil {
		return plan, err
	}
	for _, c := range plan.Files {
		if c.New == nil {
			delete(d, c.Path)
		} else {
			d[c.Path] = c.New
		}
	}
	return plan, nil
}

// settings draws a JSON document as people and programs write them.
func settings(t *rapid.T) []byte {
	if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
		return nil
	}
	unit := rapid.SampledFrom([]string{"", "", "  ", "    ", "\t"}).Draw(t, "unit")
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	loose := func() string {
		return rapid.SampledFrom([]string{"", "", "", " ", "\n", " \n ", "\t"}).Draw(t, "loose")
	}
	at := func(depth int) string {
		if unit == "" {
			return rapid.SampledFrom([]string{"", " "}).Draw(t, "space")
		}
		return eol + strings.Repeat(unit, depth)
	}
	handler := func() string {
		return rapid.SampledFrom([]string{`{"type":"command","command":"lint"}`,
			`{ "type": "command", "command": "a", "args": ["b"] }`,
			`{"type":"http","url":"http://x/"}`, `{}`, `{"type":"command","command":"/opt/belay-hooks"}`}).Draw(t, "handler")
	}
	group := func() string {
		var hs []string
		for range rapid.IntRange(0, 2).Draw(t, "handlers") {
			hs = append(hs, loose()+handler()+loose())
		}
		return `{"matcher": "Bash", "hooks": [` + strings.Join(hs, ",") + loose() + `]}`
	}
	list := func(depth int) string {
		var gs []string
		for range rapid.IntRange(0, 2).Draw(t, "groups") {
			gs = append(gs, at(depth+1)+group())
		}
		return "[" + strings.Join(gs, ",") + loose() + "]"
	}
	object := func(depth int, members []string) string {
		var b strings.Builder
		b.WriteString("{")
		for i, m := range members {
			if i > 0 {
				b.WriteString("," + loose())
			}
			b.WriteString(at(depth+1) + m)
		}
		if len(members) > 0 {
			b.WriteString(at(depth))
		}
		return b.String() + loose() + "}"
	}
	var root []string
	add := func(m string) {
		if rapid.Bool().Draw(t, "has") {
			root = append(root, m)
		}
	}
	add(`"model": "opus \" \\ é"`)
	var events []string
	for _, e := range []string{"PreToolUse", "Stop", "Unknown", "SessionStart"} {
		if rapid.Bool().Draw(t, e) {
			events = append(events, fmt.Sprintf("%q:%s%s", e, loose(), list(2)))
		}
	}
	add(`"hooks":` + object(1, events))
	add(`"env": ` + object(1, rapid.SampledFrom([][]string{nil, {`"A": "b"`}, {`"A":"b"`, `"C": "d"`}}).Draw(t, "env")))
	add(`"permissions": {"allow": [ "Bash(ls)" ,"x"], "n": -1.50e3, "t": [true,null,{}, []]}`)
	return []byte(loose() + object(0, root) + loose())
}

// config draws a TOML document.
func config(t *rapid.T) []byte {
	parts := []string{"model = \"x\"\n", "# note\n", "\n", "[projects.\"/src\"]\ntrust_level = \"trusted\"\n",
		"[features]\nother = true # why\n", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"lint\"\n",
		"[hooks.state.\"/x/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:00\"\n", "[a]\r\nb = [1,\n 2]\r\n"}
	if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
		return nil
	}
	out := ""
	for i, p := range parts {
		if rapid.Bool().Draw(t, fmt.Sprint("part ", i)) {
			out += p
		}
	}
	if rapid.Bool().Draw(t, "cut") {
		out = strings.TrimRight(out, "\r\n")
	}
	return []byte(out)
}

// Whatever stands there: disconnecting gives the bytes back that were there before connecting,
// connecting twice changes nothing, and disconnecting twice changes nothing.
func TestConnectAndDisconnectAreIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(connect.Runtimes()).Draw(t, "runtime")
		level := rapid.SampledFrom(connect.Levels(name)).Draw(t, "level")
		before := disk{}
		empty, err := connect.Make(name, level, place(), hook(), false, before.read)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range empty.Files {
			if strings.HasSuffix(c.Path, ".js") || strings.HasPrefix(c.Path, "/home/dev/.openclaw/belay/") {
				continue // a whole file is belay's, or refused
			}
			content := settings
			if strings.HasSuffix(c.Path, ".toml") {
				content = config
			}
			if b := content(t); b != nil {
				before[c.Path] = b
			}
		}
		now := disk{}
		for p, b := range before {
			now[p] = b
		}
		if _, err := now.do(name, level, hook(), true); err != nil {
			t.Fatalf("connect: %v\n%s", err, now)
		}
		again, err := now.do(name, level, hook(), true)
		if err != nil || again.Changes() {
			t.Fatalf("connecting twice: %v, changes %v\n%s", err, again.Changes(), now)
		}
		connected := fmt.Sprintf("%q", now)
		for range 2 {
			if _, err := now.do(name, level, hook(), false); err != nil {
				t.Fatalf("disconnect: %v\n%s", err, connected)
			}
		}
		if len(now) != len(before) {
			t.Fatalf("%q became %q, over %s", before, now, connected)
		}
		for p, b := range before {
			if string(now[p]) != string(b) {
				t.Fatalf("%s\n%q became\n%q, over\n%s", p, b, now[p], connected)
			}
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
