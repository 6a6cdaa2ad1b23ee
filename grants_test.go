package belay_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/phases"
)

const shortOfOne = `version: belay/v1
hooks:
  - name: guard
    module: builtin:command-block
    priority: 100
    capabilities: [block, request_approval, shell_parse]
`

// A state directory of today may bind a hook with an import that it does not grant. It
// opens, nothing of it is changed, and what ran without a power blocks its phases and
// says which one, until it is granted.
func TestUngrantedImportBlocks(t *testing.T) {
	dir := state(t, shortOfOne)
	b := open(t, dir, belay.Options{})
	v, err := b.Invoke(t.Context(), exec("ls"))
	if v.Decision != phases.Block || v.Kind != phases.KindLoad || phases.FaultOf(err) == nil || !strings.Contains(v.Reason, "pattern_match") || !strings.Contains(v.Reason, "belay doctor --fix") {
		t.Errorf("%s %s %q, want a block of kind load that names the capability and the command", v.Decision, v.Kind, v.Reason)
	}
	if s := b.Bindings()[0]; !strings.Contains(s.Problem, "pattern_match") {
		t.Errorf("status: %+v", s)
	}
	want := []loader.Ungranted{{Binding: "guard", Capabilities: []string{"pattern_match"}, Reasons: []string{ungranted(t, dir)[0].Reasons[0]}}}
	if diff := cmp.Diff(want, ungranted(t, dir)); diff != "" {
		t.Error(diff)
	}
	if src, err := os.ReadFile(filepath.Join(dir, "belay.yaml")); err != nil || string(src) != shortOfOne {
		t.Errorf("belay.yaml was changed: %s %v", src, err)
	}
	write(t, filepath.Join(dir, "belay.yaml"), strings.Replace(shortOfOne, "shell_parse", "shell_parse, pattern_match", 1))
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := invoke(t, b, exec("ls")); v.Decision != phases.Allow || len(ungranted(t, dir)) != 0 {
		t.Errorf("granted: %+v", v)
	}
}

func ungranted(t *testing.T, dir string) []loader.Ungranted {
	t.Helper()
	list, err := loader.UngrantedIn(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The same holds where modules are looked at, installed and proposed.
func TestUngrantedImportIsRefused(t *testing.T) {
	file, err := os.ReadFile(example("command-block"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := loader.Inspect(t.Context(), file, []string{"block", "shell_parse", "request_approval"})
	if err != nil || !slices.ContainsFunc(info.Problems, func(p string) bool { return strings.Contains(p, "pattern_match") }) {
		t.Errorf("inspect: %q %v", info.Problems, err)
	}
	dir := state(t, "version: belay/v1\nhooks: []\n")
	_, _, err = install.Hook(t.Context(), dir, install.Request{File: file, Allow: []string{"block", "shell_parse", "request_approval"}})
	if err == nil || !strings.Contains(err.Error(), "pattern_match") {
		t.Errorf("install: %v", err)
	}
	bench, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	h := loader.BenchHook{Name: "guard", Module: file, Tier: phases.Trusted, Allowed: []string{"block"}}
	if _, err := bench.Load(context.Background(), h); phases.FaultOf(err) == nil || phases.FaultOf(err).Kind != phases.KindLoad {
		t.Errorf("bench: %v, want a fault of kind load", err)
	}
	h.Recorded = true // what was loaded so once is loaded so again
	if l, err := bench.Load(context.Background(), h); err != nil || !slices.Equal(l.Capabilities, []string{"block"}) {
		t.Errorf("recorded: %v", err)
	}
}

// Every binding of a built-in hook that the tree shows, in pages, examples and scripts,
// grants what the hook imports: a reader who copies one gets a hook that runs.
func TestBindingsInTheTreeGrantEnough(t *testing.T) {
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	bound := regexp.MustCompile(`module: ['"]?builtin:([a-z-]+)['"]?(?:,? |\n)(?:[^\n]*\n){0,9}?[^\n]*capabilities: \[([^\]]*)\]`)
	seen := 0
	err = filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
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
				continue // what is short is what it is about
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
