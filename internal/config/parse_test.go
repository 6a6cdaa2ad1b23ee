package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const sample = `# our policy
version: belay/v1
hooks:
  # the guard
  - name: guard
    module: builtin:command-guard
    priority: 100 # first
    match: {tools: "^exec$"}
    capabilities: [block, shell_parse]
  - name: mine
    module: hooks/mine.wasm
    digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    mode: observe
    config: {limit: 3}
    capabilities: ["rewrite:/args"]
require:
  - phases: [pre_tool]
    tools: ^exec$
    hooks: [guard]
scopes:
  fs_write: [/home/dev/project/**]
redact:
  masks: [/args/token]
`

func TestParse(t *testing.T) {
	f, err := config.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Hooks) != 2 || f.Hooks[0].Match.Tools != "^exec$" || f.Hooks[1].Mode != phases.Observe ||
		string(f.Hooks[1].Config) != `{"limit":3}` {
		t.Errorf("got %+v", f)
	}
	if len(f.Require) != 1 || len(f.Scopes.FSWrite) != 1 {
		t.Errorf("got %+v", f)
	}
}

func TestParseRefusesWithTheLine(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"other version", "belay/v1", "belay/v2", "belay.yaml:2"},
		{"unknown member", "priority: 100", "prio: 100", "belay.yaml:7"},
		{"name twice", "name: mine", "name: guard", "belay.yaml:10"},
		{"bad name", "name: mine", "name: ../mine", "belay.yaml:10"},
		{"unknown phase", "[pre_tool]", "[pre_toll]", "not a phase"},
		{"phase that cannot be blocked", "[pre_tool]", "[audit]", "not a phase that can be blocked"},
		{"unpinned file", "    digest: sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "",
			"pinned by its digest"},
		{"short digest", "sha256:aaaa", "sha256:aa", "64 hexadecimal digits"},
		{"upper-case digest", "sha256:aaaa", "sha256:AAAA", "64 hexadecimal digits"},
		{"no capabilities", `    capabilities: ["rewrite:/args"]` + "\n", "", "list what the hook may do"},
		{"bad capability", "rewrite:/args", "rewrite:args", `/capabilities/0: "rewrite:args": rewrite takes a JSON Pointer`},
		{"bad pattern", `"^exec$"}`, `"("}`, "/match/tools: matcher"},
		{"pattern of no tool", `"^exec$"}`, `"^exce$"}`, `/match/tools: matcher "^exce$": matches no known tool`},
		{"bad mode", "observe", "watch", "enforce or observe"},
		{"priority out of range", "100 #", "5000 #", "between -1000 and 1000"},
		{"config not a mapping", "{limit: 3}", "[3]", "must be a mapping"},
		{"required hook unbound", "hooks: [guard]", "hooks: [gaurd]", `no hook is bound as "gaurd"`},
		{"scope not a prefix pattern", "/home/dev/project/**", "/home/*/project", "/scopes"},
		{"mask not a pointer", "/args/token", "args.token", "JSON Pointer"},
		{"duplicate key", "mode: observe", "mode: observe\n    mode: enforce", "duplicate key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := strings.Replace(sample, c.old, c.new, 1)
			if src == sample {
				t.Fatal("the case changes nothing")
			}
			_, err := config.Parse([]byte(src))
			if !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ErrConfig with %q", err, c.want)
			}
			if at := strings.Count(err.Error(), "/match/"); strings.Contains(err.Error(), "manifest") ||
				strings.Contains(err.Error(), "not valid") || at > 1 {
				t.Errorf("says it twice, or speaks of a manifest: %v", err)
			}
		})
	}
	if _, err := config.Parse(nil); !errors.Is(err, config.ErrConfig) {
		t.Errorf("an empty file is accepted: %v", err)
	}
}

func TestEditKeepsComments(t *testing.T) {
	b := config.Binding{
		Name: "third", Module: "sha256:" + strings.Repeat("b", 64), Capabilities: []string{"block", "rewrite:/args"},
		Phases: []phases.Phase{phases.PreTool}, Match: &tiers.Match{Tools: "^exec$"},
		Config: jsontext.Value(`{"deny":["a: b","yes"]}`),
	}
	added, err := config.AddBinding([]byte(sample), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, comment := range []string{"# our policy", "# the guard", "# first"} {
		if !strings.Contains(string(added), comment) {
			t.Errorf("the comment %q is gone:\n%s", comment, added)
		}
	}
	f, err := config.Parse(added)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b, f.Hooks[2]); d != "" {
		t.Error(d)
	}
	if _, err := config.AddBinding(added, b); !errors.Is(err, config.ErrConfig) {
		t.Errorf("bound twice: %v", err)
	}

	off, err := config.SetDisabled(added, "guard", true)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = config.Parse(off); err != nil || len(f.Enabled()) != 2 {
		t.Errorf("disabled: %v, %d enabled", err, len(f.Enabled()))
	}
	on, err := config.SetDisabled(off, "guard", false)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(added), string(on)); d != "" {
		t.Errorf("disabling and enabling again changed the file:\n%s", d)
	}
	gone, err := config.RemoveBinding(on, "third")
	if err != nil {
		t.Fatal(err)
	}
	if f, err = config.Parse(gone); err != nil || len(f.Hooks) != 2 {
		t.Errorf("removed: %v, %+v", err, f)
	}
	if _, err := config.RemoveBinding(gone, "third"); !errors.Is(err, config.ErrConfig) {
		t.Errorf("removed twice: %v", err)
	}
	// A hook that something requires cannot be removed behind its back.
	if _, err := config.RemoveBinding(gone, "guard"); !errors.Is(err, config.ErrConfig) {
		t.Errorf("a required hook was removed: %v", err)
	}
}

func TestEditAnEmptyFile(t *testing.T) {
	for _, src := range []string{config.Empty, "version: belay/v1\n", "version: belay/v1\nhooks:\n"} {
		b := config.Binding{Name: "a", Module: "builtin:a", Capabilities: []string{}}
		out, err := config.AddBinding([]byte(src), b)
		if err != nil {
			t.Errorf("%q: %v", src, err)
			continue
		}
		back, err := config.RemoveBinding(out, "a")
		if err != nil {
			t.Errorf("%s: %v", out, err)
			continue
		}
		if f, err := config.Parse(back); err != nil || len(f.Hooks) != 0 {
			t.Errorf("%s: %v", back, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(config.Empty))
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, err := config.Parse(src); err != nil && !errors.Is(err, config.ErrConfig) {
			t.Fatalf("error without class: %v", err)
		}
	})
}
