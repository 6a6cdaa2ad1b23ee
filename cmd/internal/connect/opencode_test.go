package connect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

const (
	openCodeUser    = "/home/dev/.config/opencode/plugin/belay.js"
	openCodeProject = "/src/app/.opencode/plugin/belay.js"
	openCodeManaged = "/image/etc/opencode/opencode.json"
)

// What keeps OpenCode from asking belay, or lets others change a call after it, is said.
func TestOpenCodePluginsThatDoNotAsk(t *testing.T) {
	h := hook()
	h.Program = filepath.Join(t.TempDir(), "belay-hook")
	must(t, os.WriteFile(h.Program, nil, 0o755))
	elsewhere := t.TempDir() // plugins are looked for on the disk itself
	rival := filepath.Join(elsewhere, "plugin", "zz.js")
	tool := filepath.Join(elsewhere, "tools", "bash.ts")
	for _, path := range []string{rival, tool} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, nil, 0o644))
	}
	content := func(path, text string) func(disk, *connect.Place) {
		return func(d disk, _ *connect.Place) { d[path] = []byte(text) }
	}
	others := `{"plugin": ["some-plugin", "file:///image/etc/opencode/belay.js"]}`
	for name, c := range map[string]struct {
		level      connect.Level
		spoil      func(d disk, p *connect.Place)
		fail, warn string // "": none
	}{
		"as connected":               {connect.User, func(disk, *connect.Place) {}, "", ""},
		"as connected, in a project": {connect.Project, func(disk, *connect.Place) {}, "", ""},
		"as connected, managed":      {connect.Managed, func(disk, *connect.Place) {}, "", ""},
		"pure": {connect.User, func(_ disk, p *connect.Place) { p.Pure = true },
			"OPENCODE_PURE is set: OpenCode loads no plugin", ""},
		"the plugin was changed": {connect.User, func(d disk, _ *connect.Place) {
			d[openCodeUser] = append(d[openCodeUser], '\n')
		}, "belay is not asked about", "it was changed"},
		"its settings are none": {connect.User, func(d disk, _ *connect.Place) {
			d[openCodeUser] = []byte(strings.Replace(string(d[openCodeUser]), "BELAY_SETTINGS = {", "BELAY_SETTINGS = ", 1))
		}, "belay is not asked about", "its settings cannot be read"},
		"it asks another state directory": {connect.User, func(d disk, _ *connect.Place) {
			d[openCodeUser] = []byte(strings.Replace(string(d[openCodeUser]), h.State, "/elsewhere", 1))
		}, "", "it asks another state directory, /elsewhere"},
		"no configuration names it": {connect.Managed, content(openCodeManaged, "{}"),
			"belay is not asked about", openCodeManaged + " does not name it"},
		"a plugin that the project names": {connect.User, content("/src/app/opencode.json", others),
			"/src/app/opencode.json names other plugins: some-plugin", ""},
		"one that .opencode names": {connect.User, content("/src/app/.opencode/opencode.jsonc", others),
			"/src/app/.opencode/opencode.jsonc names other plugins", ""},
		"one with options": {connect.User, content("/src/app/opencode.json", `{"plugin": [["x", {}]]}`),
			"names other plugins: some with options", ""},
		"one that the person names": {connect.User, content("/home/dev/.config/opencode/opencode.json", others),
			"", "/home/dev/.config/opencode/opencode.json names other plugins"},
		"one in config.json": {connect.User, content("/home/dev/.config/opencode/config.json", others),
			"", "/home/dev/.config/opencode/config.json names other plugins"},
		"one that OPENCODE_CONFIG names": {connect.User, func(d disk, p *connect.Place) {
			p.OpenCodeConfig = "/home/dev/other.json"
			d[p.OpenCodeConfig] = []byte(others)
		}, "", "/home/dev/other.json names other plugins"},
		"one in the directory of OPENCODE_CONFIG_DIR": {connect.User, func(_ disk, p *connect.Place) {
			p.OpenCodeMore = []string{elsewhere}
		}, "", "OpenCode loads " + rival + ", " + tool},
		"one that its opencode.json names": {connect.User, func(d disk, p *connect.Place) {
			p.OpenCodeMore = []string{"/home/dev/more"}
			d["/home/dev/more/opencode.json"] = []byte(others)
		}, "", "/home/dev/more/opencode.json names other plugins"},
		"a configuration that is none": {connect.User, content("/src/app/opencode.json", "{"),
			"", "belay cannot tell which plugins it names"},
	} {
		t.Run(name, func(t *testing.T) {
			d, p := disk{}, place()
			_, err := d.do("opencode", c.level, h, true)
			must(t, err)
			if _, there := d[openCodeProject]; there != (c.level == connect.Project) {
				t.Fatalf("written: %v", d)
			}
			c.spoil(d, &p)
			var fails, warns string
			for _, f := range connect.Examine("opencode", p, h.State, d.read) {
				switch f.Severity {
				case connect.Fail:
					fails += f.Text + "\n"
				case connect.Warn:
					warns += f.Text + f.Advice + "\n"
				}
			}
			if (c.fail == "") != (fails == "") || !strings.Contains(fails, c.fail) ||
				(c.warn == "") != (warns == "") && c.fail == "" || !strings.Contains(warns, c.warn) {
				t.Errorf("fails: %s\nwarnings: %s", fails, warns)
			}
		})
	}
}

// OpenCode's directories are those that it reads itself.
func TestOpenCodePlaces(t *testing.T) {
	env := map[string]string{"HOME": "/home/dev", "OPENCODE_CONFIG_DIR": "/more", "OPENCODE_CONFIG": "/other.json"}
	p, err := connect.Places(func(name string) string { return env[name] }, "/src/app")
	must(t, err)
	if strings.Join(p.OpenCodeMore, " ") != "/home/dev/.opencode /more" || p.OpenCodeConfig != "/other.json" ||
		p.OpenCode != "/home/dev/.config/opencode" {
		t.Errorf("%+v", p)
	}
}
