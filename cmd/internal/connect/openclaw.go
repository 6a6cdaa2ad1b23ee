package connect

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/adapters/openclaw/plugin"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

// OpenClaw 2026.9.6 loads a plugin from a directory that plugins.load.paths of its configuration names. It needs a
// package.json and a manifest beside the program, and leave in plugins.entries to read conversations.

// openClawMark is the first line of the plugin that connect writes: by it the file is belay's.
const openClawMark = "// Written by `belay connect openclaw`; `belay disconnect openclaw` takes it away.\n"

const (
	openClawPackageMark = `{"name": "@belay-hooks/openclaw"`
	openClawPackage     = openClawPackageMark +
		`, "version": "1.0.0", "type": "module", "openclaw": {"extensions": ["./belay.js"]}}` + "\n"
	openClawManifestMark = `{"id": "belay"`
	openClawManifest     = openClawManifestMark + `, "name": "belay", "activation": {"onStartup": true}, ` +
		`"contracts": {"agentToolResultMiddleware": ["openclaw", "codex"]}, ` +
		`"configSchema": {"type": "object", "additionalProperties": false}}` + "\n"
	// openClawEntry is belay's entry in plugins.entries: without this leave OpenClaw asks belay about no prompt.
	openClawEntry = `{"enabled": true, "hooks": {"allowConversationAccess": true}}`
	openClawID    = "belay"
)

// openClawWait is how long OpenClaw has to wait for a hook at least, in milliseconds.
const openClawWait = 30_000

// openClawPlugin returns what the plugin's program becomes. A file of others is an ErrConflict.
func openClawPlugin(src []byte, h Hook, connected bool) ([]byte, error) {
	settings, err := text(openCodeHook{Hook: h.Program, State: h.State, Connect: h.Daemon})
	if err != nil {
		return nil, err
	}
	return wholeFile(src, openClawMark, openClawMark+pluginSettings+string(settings)+"\n"+plugin.Source(), connected)
}

// wholeFile returns what a file becomes that is belay's altogether: own is how each that belay wrote begins.
func wholeFile(src []byte, own, want string, connected bool) ([]byte, error) {
	is := strings.HasPrefix(string(src), own)
	switch {
	case !connected && is:
		return nil, nil
	case !connected:
		return src, nil
	case src != nil && !is:
		return nil, conflict(1, "the file is not belay's", "Take it away, or give it another name.")
	}
	return []byte(want), nil
}

// openClawConfig returns what openclaw.json becomes: with the plugin in dir, or without.
func openClawConfig(src []byte, dir string, connected bool) ([]byte, error) {
	if !connected {
		return openClawWithout(src, dir)
	}
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	plugins := root.Member("plugins")
	if n := plugins.Member("enabled"); n != nil && n.Kind != 't' {
		return nil, conflict(jsonedit.Line(src, n.Start), "plugins.enabled is not true: OpenClaw loads no plugin",
			"Take the member out; belay changes only its own entries.")
	}
	if n := plugins.Member("deny"); n != nil {
		if names, ok := list(src, plugins, "deny"); !ok || slices.Contains(names, openClawID) {
			return nil, conflict(jsonedit.Line(src, n.Start), "plugins.deny keeps belay out", "Take belay out of the list.")
		}
	}
	if n := plugins.Member("entries").Member(openClawID); n != nil {
		if !openClawMay(src, n) {
			return nil, conflict(jsonedit.Line(src, n.Start), "plugins.entries.belay does not let belay read conversations",
				"Take the member out: belay writes its own.")
		}
	} else {
		path := []string{"plugins", "entries", openClawID}
		if src, err = jsonedit.Put(src, path, []byte(openClawEntry), false); err != nil {
			return nil, err
		}
	}
	if names, ok := list(src, plugins, "allow"); ok && !slices.Contains(names, openClawID) {
		if src, err = jsonedit.Append(src, []string{"plugins", "allow"}, []byte(`"`+openClawID+`"`)); err != nil {
			return nil, err
		}
	}
	return openClawPaths(src, dir)
}

// openClawPaths adds the plugin's directory to plugins.load.paths.
func openClawPaths(src []byte, dir string) ([]byte, error) {
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	if names, _ := list(src, root.Member("plugins").Member("load"), "paths"); slices.Contains(names, dir) {
		return src, nil
	}
	value, err := text(dir)
	if err != nil {
		return nil, err
	}
	return jsonedit.Append(src, []string{"plugins", "load", "paths"}, value)
}

// openClawMay reports whether an entry lets belay be asked about every hook.
func openClawMay(src []byte, n *jsonedit.Node) bool {
	isTrue := func(n *jsonedit.Node) bool { return n != nil && n.Kind == 't' }
	hooks := n.Member("hooks")
	injection := hooks.Member("allowPromptInjection")
	return isTrue(n.Member("enabled")) && isTrue(hooks.Member("allowConversationAccess")) &&
		(injection == nil || injection.Kind == 't') && len(shortWaits(src, hooks)) == 0
}

// shortWaits names the hooks that OpenClaw gives up before belay has answered.
func shortWaits(src []byte, hooks *jsonedit.Node) (names []string) {
	short := func(n *jsonedit.Node) bool {
		if n == nil {
			return false
		}
		ms, err := strconv.Atoi(string(src[n.Start:n.End]))
		return err != nil || ms < openClawWait
	}
	if short(hooks.Member("timeoutMs")) {
		names = append(names, "timeoutMs")
	}
	if t := hooks.Member("timeouts"); t != nil {
		for _, name := range members(t) {
			if short(t.Member(name)) {
				names = append(names, "timeouts."+name)
			}
		}
	}
	return names
}

// openClawWithout takes belay's parts out of openclaw.json.
func openClawWithout(src []byte, dir string) ([]byte, error) {
	cut := func(path []string, find func(root *jsonedit.Node) int) error {
		if src == nil {
			return nil
		}
		root, err := parse(src)
		if err != nil {
			return err
		}
		if at := find(root); at >= 0 {
			src, err = jsonedit.CutAt(src, path, at)
		}
		return err
	}
	listed := func(n *jsonedit.Node, name, what string) int {
		names, _ := list(src, n, name)
		return slices.Index(names, what)
	}
	// In the order opposite to that in which they were added.
	err := cut([]string{"plugins", "load", "paths"}, func(root *jsonedit.Node) int {
		return listed(root.Member("plugins").Member("load"), "paths", dir)
	})
	if err == nil {
		err = cut([]string{"plugins", "allow"}, func(root *jsonedit.Node) int {
			return listed(root.Member("plugins"), "allow", openClawID)
		})
	}
	if err == nil {
		err = cut([]string{"plugins", "entries"}, func(root *jsonedit.Node) int {
			entries := root.Member("plugins").Member("entries")
			n := entries.Member(openClawID)
			if n == nil || !equal([]byte(openClawEntry), src[n.Start:n.End]) {
				return -1
			}
			return slices.Index(members(entries), openClawID)
		})
	}
	return src, err
}

// openClaw looks at belay's plugin, and at what can keep OpenClaw from asking it.
func (l *look) openClaw(place Place, read Reader) {
	files := place.files(openclaw.Runtime, User)
	src, there := l.read(files[0].path, read)
	if !there {
		return
	}
	rest, own := strings.CutPrefix(string(src), openClawMark+pluginSettings)
	if !own {
		return
	}
	line, program, _ := strings.Cut(rest, "\n")
	var h openCodeHook
	r := registered{level: User, path: files[0].path}
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		r.wrong, r.void = append(r.wrong, "its settings cannot be read"), true
	}
	if program != plugin.Source() {
		r.wrong, r.void = append(r.wrong, "it was changed, or is the plugin of another version of belay"), true
	}
	for i, want := range []string{openClawPackage, openClawManifest} {
		if got, _ := l.read(files[i+1].path, read); string(got) != want {
			r.wrong, r.void = append(r.wrong, files[i+1].path+" is not as belay writes it"), true
		}
	}
	unasked := l.openClawSettings(files[3].path, filepath.Dir(files[0].path), read)
	for _, event := range l.events {
		e := r
		e.event, e.wrong = event, slices.Clone(r.wrong)
		if why, ok := unasked(event); ok {
			e.wrong, e.void = append(e.wrong, why), true
		}
		e.inv = invocation{program: h.Hook, event: event, state: h.State, daemon: h.Connect}
		l.entry(&e)
	}
	l.openClawRivals(place)
}

// openClawConversation are the hooks that OpenClaw keeps from a plugin without leave to read conversations.
func openClawConversation() []string {
	return []string{"before_model_resolve", "agent_turn_prepare", "before_prompt_build", "before_agent_reply", "llm_input",
		"llm_output", "before_agent_finalize", "agent_end", "before_agent_run"}
}

// openClawSettings reads openclaw.json, and tells which hooks OpenClaw does not ask belay about, and why.
func (l *look) openClawSettings(path, dir string, read Reader) (unasked func(event string) (string, bool)) {
	src, _ := l.read(path, read)
	all := func(why string) func(string) (string, bool) {
		return func(string) (string, bool) { return path + " " + why, true }
	}
	root, err := parse(src)
	if err != nil {
		return all("cannot be read as strict JSON: belay cannot tell whether OpenClaw loads its plugin")
	}
	plugins := root.Member("plugins")
	entry := plugins.Member("entries").Member(openClawID)
	paths, _ := list(src, plugins.Member("load"), "paths")
	deny, _ := list(src, plugins, "deny")
	allow, only := list(src, plugins, "allow")
	isTrue := func(n *jsonedit.Node) bool { return n != nil && n.Kind == 't' }
	switch on := plugins.Member("enabled"); {
	case on != nil && on.Kind != 't':
		return all("has plugins.enabled = false: OpenClaw loads no plugin")
	case slices.Contains(deny, openClawID):
		return all("has belay in plugins.deny")
	case only && !slices.Contains(allow, openClawID):
		return all("has a list plugins.allow without belay")
	case !slices.Contains(paths, dir):
		return all("does not name it in plugins.load.paths")
	case !isTrue(entry.Member("enabled")):
		return all("does not have plugins.entries.belay.enabled = true")
	}
	hooks := entry.Member("hooks")
	if short := shortWaits(src, hooks); len(short) > 0 {
		l.say(Fail, path+" has less than 30 s in plugins.entries.belay.hooks: "+some(short)+
			": OpenClaw gives belay up, and goes on in hooks that fail open", "Take it out.")
	}
	return func(event string) (string, bool) {
		injection := hooks.Member("allowPromptInjection")
		switch {
		case slices.Contains(openClawConversation(), event) && !isTrue(hooks.Member("allowConversationAccess")):
			return path + " does not have plugins.entries.belay.hooks.allowConversationAccess = true", true
		case injection != nil && injection.Kind != 't' && slices.Contains([]string{"agent_turn_prepare",
			"before_prompt_build", "heartbeat_prompt_contribution"}, event):
			return path + " has plugins.entries.belay.hooks.allowPromptInjection = false", true
		}
		return "", false
	}
}

// openClawRivals tells of plugins of others. One that asks its person about a call decides the call's arguments.
func (l *look) openClawRivals(place Place) {
	var names []string
	for _, dir := range []string{filepath.Join(place.OpenClaw, "extensions"),
		filepath.Join(place.Project, ".openclaw", "extensions")} {
		found, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is well formed
		names = append(names, found...)
	}
	if len(names) > 0 {
		l.say(Warn, "OpenClaw can load "+some(names)+
			": a plugin that asks its person about a call can change the call after belay has judged it",
			"Read them, and take out those that you do not trust.")
	}
}
