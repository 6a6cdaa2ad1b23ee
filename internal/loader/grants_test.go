package loader_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
)

const root = "../.."

// What imports a power that it is not granted is refused where modules are looked at, installed and proposed.
func TestUngrantedImportIsRefused(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(root, "examples-wasm", "command-guard", "command-guard.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := loader.Inspect(t.Context(), file, []string{"block", "shell_parse", "request_approval"})
	if err != nil ||
		!slices.ContainsFunc(info.Problems, func(p string) bool { return strings.Contains(p, "pattern_match") }) {
		t.Errorf("inspect: %q %v", info.Problems, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(config.Empty), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = install.Hook(t.Context(), trust.Dir{Path: dir},
		install.Request{File: file, Allow: []string{"block", "shell_parse", "request_approval"}})
	if err == nil || !strings.Contains(err.Error(), "pattern_match") {
		t.Errorf("install: %v", err)
	}
	bench, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	h := loader.BenchHook{Name: "guard", Module: file, Tier: phases.Trusted, Allowed: []string{"block"}}
	if _, err := bench.Load(context.Background(), h); phases.FaultOf(err) == nil ||
		phases.FaultOf(err).Kind != phases.KindLoad {
		t.Errorf("bench: %v, want a fault of kind load", err)
	}
	h.Recorded = true // a hook of a recording loads with the grants that it had then
	if l, err := bench.Load(context.Background(), h); err != nil || !slices.Equal(l.Capabilities, []string{"block"}) {
		t.Errorf("recorded: %v", err)
	}
}

// The bindings of a directory that grant less than their hooks import are listed, with what
// is missing, and no longer when it is granted. A disabled binding is not asked.
func TestUngrantedIn(t *testing.T) {
	const short = `version: belay/v1
hooks:
  - name: guard
    module: builtin:command-guard
    priority: 100
    capabilities: [block, request_approval, shell_parse]
  - name: off
    module: builtin:command-guard
    disabled: true
    capabilities: [block]
`
	dir := trust.Dir{Path: t.TempDir()}
	for text, want := range map[string][]string{short: {"pattern_match"},
		strings.Replace(short, "shell_parse", "shell_parse, pattern_match", 1): nil} {
		if err := os.WriteFile(filepath.Join(dir.Path, config.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := loader.UngrantedIn(t.Context(), dir)
		if err != nil || len(list) != min(len(want), 1) {
			t.Fatalf("%+v, %v", list, err)
		}
		if want != nil && (list[0].Binding != "guard" || !slices.Equal(list[0].Capabilities, want) ||
			len(list[0].Reasons) != 1 || list[0].Reasons[0] == "") {
			t.Errorf("%+v", list[0])
		}
	}
}

// Every binding of a built-in hook that the tree shows, in pages, examples and scripts,
// grants what the hook imports: a reader who copies one gets a hook that runs.
func TestBindingsInTheTreeGrantEnough(t *testing.T) {
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	bound := regexp.MustCompile(
		`module: ['"]?builtin:([a-z-]+)['"]?(?:,? |\n)(?:[^\n]*\n){0,9}?[^\n]*capabilities: \[([^\]]*)\]`)
	seen := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains([]string{".md", ".yaml", ".txtar"}, filepath.Ext(path)) {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range bound.FindAllStringSubmatch(string(src), -1) {
			h, err := set.Get(m[1])
			if err != nil {
				continue
			}
			var allowed []string
			for _, c := range strings.Split(m[2], ",") {
				if c = strings.Trim(c, ` "'`); c != "" {
					allowed = append(allowed, c)
				}
			}
			info, err := loader.Inspect(t.Context(), h.Module, append([]string{}, allowed...))
			seen++
			if strings.Contains(path, "ungranted") {
				continue // this page is about missing grants
			}
			if err != nil || len(info.Problems) > 0 {
				t.Errorf("%s: builtin:%s with %q: %q %v", path, m[1], allowed, info.Problems, err)
			}
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d bindings were seen: %v", seen, err)
	}
}
