package connect_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// Entries that do not run are as good as none: an examination fails.
func TestShadowedEntries(t *testing.T) {
	h := hook()
	h.Program = filepath.Join(t.TempDir(), "belay-hook")
	must(t, os.WriteFile(h.Program, nil, 0o755))
	managed := "/image/etc/claude-code/managed-settings.json"
	for name, c := range map[string]struct {
		runtime string
		spoil   func(d disk)
		fail    string // "": none
	}{
		"as connected":        {"claude-code", func(disk) {}, ""},
		"as connected, Codex": {"codex", func(disk) {}, ""},
		"switched off in the project": {"claude-code", func(d disk) {
			d["/src/app/.claude/settings.json"] = []byte(`{"disableAllHooks": true}`)
		}, "do not run"},
		"switched off in local settings": {"claude-code", func(d disk) {
			d["/src/app/.claude/settings.local.json"] = []byte(`{"disableAllHooks": true}`)
		}, "do not run"},
		"only managed hooks, without ours": {"claude-code", func(d disk) {
			d[managed] = []byte(`{"allowManagedHooksOnly": true}`)
		}, "do not run"},
		"no entry left": {"claude-code", func(d disk) {
			d["/home/dev/.claude/settings.json"] = []byte(`{}`)
		}, ""},
		"no entry left, and managed": {"claude-code", func(d disk) {
			delete(d, "/home/dev/.claude/settings.json")
			d[managed] = []byte(`{"allowManagedHooksOnly": true}`)
		}, "belay is none of them"},
		"a tool's name as matcher": {"claude-code",
			replace("/home/dev/.claude/settings.json", `"matcher": "*"`, `"matcher": "Bash"`), "not asked about"},
		"trust of another hook": {"codex",
			replace("/home/dev/.codex/config.toml", `trusted_hash = "sha256:`, `trusted_hash = "sha256:0`), "not asked about"},
		"a hook that was changed": {"codex", replace("/home/dev/.codex/hooks.json", `"timeout": 30`, `"timeout": 31`),
			"not asked about"},
		"hooks that were taken out": {"codex", func(d disk) { delete(d, "/home/dev/.codex/hooks.json") },
			"has none of belay's hooks"},
		"hooks that were spoiled": {"codex", func(d disk) { d["/home/dev/.codex/hooks.json"] = []byte(`{`) },
			"has none of belay's hooks"},
		"hooks that were emptied": {"codex", func(d disk) { d["/home/dev/.codex/hooks.json"] = []byte(`{}`) },
			"has none of belay's hooks"},
		"a hook that is disabled": {"codex",
			replace("/home/dev/.codex/config.toml", "trusted_hash", "enabled = false\ntrusted_hash"), "not asked about"},
		"features in the person's": {"codex", func(d disk) {
			d["/home/dev/.codex/config.toml"] = append(d["/home/dev/.codex/config.toml"], "\n[features]\nhooks = false\n"...)
		}, "do not run"},
		"only managed hooks, without ours, Codex": {"codex", func(d disk) {
			d["/image/etc/codex/requirements.toml"] = []byte("allow_managed_hooks_only = true\n")
		}, "do not run"},
	} {
		t.Run(name, func(t *testing.T) {
			d := disk{}
			_, err := d.do(c.runtime, connect.User, h, true)
			must(t, err)
			c.spoil(d)
			var failed []string
			for _, f := range connect.Examine(c.runtime, place(), h.State, d.read) {
				if f.Severity == connect.Fail {
					failed = append(failed, f.Text)
				}
			}
			if got := strings.Join(failed, "; "); (got == "") != (c.fail == "") || !strings.Contains(got, c.fail) {
				t.Errorf("fails with %q, want %q", got, c.fail)
			}
		})
	}
}

// Managed entries stand whatever a project says.
func TestManagedEntriesAreNotShadowed(t *testing.T) {
	h := hook()
	h.Program = filepath.Join(t.TempDir(), "belay-hook")
	must(t, os.WriteFile(h.Program, nil, 0o755))
	for _, name := range connect.Runtimes() {
		if !slices.Contains(connect.Levels(name), connect.Managed) {
			continue
		}
		d := disk{"/src/app/.claude/settings.json": []byte(`{"disableAllHooks": true}`),
			"/home/dev/.codex/config.toml": []byte("[features]\nhooks = false\n")}
		_, err := d.do(name, connect.Managed, h, true)
		must(t, err)
		found := connect.Examine(name, place(), h.State, d.read)
		if found[0].Severity != connect.OK || !strings.Contains(found[0].Text, "managed settings") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func replace(path, old, new string) func(d disk) {
	return func(d disk) { d[path] = []byte(strings.ReplaceAll(string(d[path]), old, new)) }
}
