package connect

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/adapters/opencode"
	"github.com/belay-hooks/belay/adapters/opencode/plugin"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

// pluginMark is the first line of the plugin that connect writes: by it the file is belay's.
const pluginMark = "// Written by `belay connect opencode`; `belay disconnect opencode` takes it away.\n"

// pluginSettings is the second line, up to the value.
const pluginSettings = "const BELAY_SETTINGS = "

// openCodeHook says how the plugin reaches belay.
type openCodeHook struct {
	Hook    string `json:"hook"`
	State   string `json:"state,omitzero"`
	Connect string `json:"connect,omitzero"`
}

// openCodePlugin returns what the plugin's file becomes. A file of others is an ErrConflict.
func openCodePlugin(src []byte, h Hook, connected bool) ([]byte, error) {
	settings, err := text(openCodeHook{Hook: h.Program, State: h.State, Connect: h.Daemon})
	if err != nil {
		return nil, err
	}
	return wholeFile(src, pluginMark, pluginMark+pluginSettings+string(settings)+"\n"+plugin.Source(), connected)
}

// openCodeConfig returns what opencode.json becomes: with the plugin at path in its list, or without.
func openCodeConfig(src []byte, path string, connected bool) ([]byte, error) {
	entry := "file://" + filepath.ToSlash(path)
	at := -1
	if src != nil {
		root, err := parse(src)
		if err != nil {
			return nil, err
		}
		list, _ := list(src, root, "plugin")
		at = slices.Index(list, entry)
	}
	switch {
	case connected && at >= 0, !connected && at < 0:
		return src, nil
	case !connected:
		return jsonedit.CutAt(src, []string{"plugin"}, at)
	}
	value, err := text(entry)
	if err != nil {
		return nil, err
	}
	return jsonedit.Append(src, []string{"plugin"}, value)
}

// openCode looks at the plugins of each level, and at what can stand in their way.
func (l *look) openCode(place Place, read Reader) {
	if place.Pure {
		l.say(Fail, "OPENCODE_PURE is set: OpenCode loads no plugin, and asks belay nothing",
			"Take it out of the environment.")
	}
	for _, level := range []Level{Managed, User, Project} {
		files := place.files(opencode.Runtime, level)
		src, there := l.read(files[0].path, read)
		if there {
			l.openCodePlugin(level, files, string(src), read)
		}
	}
	project := filepath.Join(place.Project, ".opencode")
	l.openCodeRivals(project, Fail)
	for _, name := range openCodeConfigs() {
		l.openCodeListed(filepath.Join(place.Project, name), Fail, read)
		l.openCodeListed(filepath.Join(project, name), Fail, read)
	}
	for _, dir := range append([]string{place.OpenCode}, place.OpenCodeMore...) {
		l.openCodeRivals(dir, Warn)
		for _, name := range openCodeConfigs() {
			l.openCodeListed(filepath.Join(dir, name), Warn, read)
		}
	}
	l.openCodeListed(filepath.Join(place.OpenCode, "config.json"), Warn, read)
	if place.OpenCodeConfig != "" {
		l.openCodeListed(place.OpenCodeConfig, Warn, read)
	}
}

func openCodeConfigs() []string { return []string{"opencode.json", "opencode.jsonc"} }

// openCodePlugin checks one plugin of belay's. It is asked about all events, or about none.
func (l *look) openCodePlugin(level Level, files []file, src string, read Reader) {
	rest, own := strings.CutPrefix(src, pluginMark+pluginSettings)
	if !own {
		return
	}
	line, program, _ := strings.Cut(rest, "\n")
	var h openCodeHook
	r := registered{level: level, path: files[0].path}
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		r.wrong, r.void = append(r.wrong, "its settings cannot be read"), true
	}
	if program != plugin.Source() {
		r.wrong, r.void = append(r.wrong, "it was changed, or is the plugin of another version of belay"), true
	}
	if len(files) > 1 { // the configuration that names it
		config, _ := l.read(files[1].path, read)
		with, err := openCodeConfig(config, filepath.Join(managedOpenCode(), pluginFile), true)
		if err != nil || string(with) != string(config) {
			r.wrong, r.void = append(r.wrong, files[1].path+" does not name it"), true
		}
	}
	for _, event := range l.events {
		e := r
		e.event, e.wrong = event, slices.Clone(r.wrong)
		e.inv = invocation{program: h.Hook, event: event, state: h.State, daemon: h.Connect}
		l.entry(&e)
	}
}

// openCodeRivals tells of plugins and tools of others in a directory that OpenCode loads. A plugin
// can change a call after belay has judged it; a tool can take the place of OpenCode's own.
func (l *look) openCodeRivals(dir string, as Severity) {
	var names []string
	for _, kind := range []string{"plugin", "plugins", "tool", "tools"} {
		for _, ext := range []string{"*.js", "*.ts"} {
			found, _ := filepath.Glob(filepath.Join(dir, kind, ext)) // the pattern is well formed
			for _, path := range found {
				if filepath.Base(path) != pluginFile {
					names = append(names, path)
				}
			}
		}
	}
	if len(names) > 0 {
		l.say(as, "OpenCode loads "+some(names)+
			": plugins can change a call after belay has judged it, and tools can take the place of its own",
			"Read them, and take out those that you do not trust.")
	}
}

// openCodeListed tells of plugins of others that a configuration names.
func (l *look) openCodeListed(path string, as Severity, read Reader) {
	src, there := l.read(path, read)
	if !there {
		return
	}
	root, err := parse(src)
	if err != nil {
		l.say(Warn, in(path, err).Error(), "belay cannot tell which plugins it names.")
		return
	}
	if root.Member("plugin") == nil {
		return
	}
	names, ok := list(src, root, "plugin")
	if !ok {
		names = []string{"some with options"}
	}
	names = slices.DeleteFunc(names, func(s string) bool { return strings.HasSuffix(s, "/"+pluginFile) })
	if len(names) > 0 {
		l.say(as, path+" names other plugins: "+some(names)+": they can change a call after belay has judged it",
			"Read them, and take out those that you do not trust.")
	}
}
