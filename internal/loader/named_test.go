package loader_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/tiers"
)

// settings-guard is told the files that belay.yaml and trust.yaml name, under their names and under those that the
// names lead to; other hooks are not.
func TestTheGuardKnowsNamedFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse([]byte(`version: belay/v1
hooks:
  - {name: gate, module: builtin:stage-gate, capabilities: [], config_file: link/none/gates.yaml}
  - {name: bare, module: builtin:settings-guard, capabilities: []}
  - name: guard
    module: builtin:settings-guard
    capabilities: []
    config: {way: block, files: [/srv/more]}
`))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := tiers.ParsePolicy([]byte("version: belay/v1\ntrustedRoot: root.json\n"),
		func(string, int64) ([]byte, error) { return nil, os.ErrNotExist })
	if err != nil {
		t.Fatal(err)
	}
	named := []string{
		filepath.Join(dir, "link/none/gates.yaml"), filepath.Join(dir, "real/none/gates.yaml"),
		filepath.Join(dir, "root.json"),
	}
	cfg := loader.Config(f, dir, policy, "r")
	if got := cfg.Bindings[0].Config; len(got) != 0 {
		t.Errorf("the gate: %s", got)
	}
	for i, before := range [][]string{{}, {"/srv/more"}} {
		var got struct {
			Way   string   `json:"way"`
			Files []string `json:"files"`
		}
		spec := cfg.Bindings[i+1]
		if err := json.Unmarshal(spec.Config, &got); err != nil {
			t.Fatal(err)
		}
		if want := slices.Concat(before, named); !slices.Equal(got.Files, want) || (got.Way == "block") != (i == 1) {
			t.Errorf("%s: %s, want %q", spec.Name, spec.Config, want)
		}
	}
	if raw := string(f.Hooks[2].Config); raw != `{"way":"block","files":["/srv/more"]}` {
		t.Errorf("what was parsed was changed: %s", raw)
	}
}
