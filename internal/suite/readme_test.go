package suite_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/tiers"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// The README of every built-in hook has an example in cases, which pass, and the configurations that it
// shows fit the schema of the hook.
func TestReadmesOfBuiltinHooks(t *testing.T) {
	set, e := builtinHooks(t)
	for _, h := range set.Hooks() {
		t.Run(h.Name, func(t *testing.T) {
			dir := filepath.Join("../../examples-wasm", h.Name)
			page, err := os.ReadFile(filepath.Join(dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			source, err := os.ReadFile(filepath.Join(dir, "belay.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			m, err := tiers.ParseManifestSource(source)
			if err != nil {
				t.Fatal(err)
			}
			cases := 0
			for _, block := range yamlBlock.FindAllSubmatch(page, -1) {
				cases += runBlock(t, e, &h, m, block[1])
			}
			if cases == 0 {
				t.Error("the page has no example with cases")
			}
		})
	}
}

// runBlock runs the cases of a block and returns how many there are. A block without cases holds the
// members of a binding, bindings, or a file of options.
func runBlock(t *testing.T, e *suite.Engine, h *builtin.Hook, m *tiers.Manifest, src []byte) int {
	doc, err := strictyaml.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	type binding struct {
		Config jsontext.Value `json:"config"`
	}
	var members struct {
		binding
		Hooks []binding      `json:"hooks"`
		Cases jsontext.Value `json:"cases"`
	}
	if err := json.Unmarshal(doc.JSON, &members); err != nil {
		t.Fatal(err)
	}
	if len(members.Hooks) == 0 && len(members.Config) == 0 && len(members.Cases) == 0 {
		members.Config = doc.JSON // a file of options
	}
	for _, b := range append(members.Hooks, members.binding) {
		if err := m.ValidateConfig(b.Config); err != nil {
			t.Errorf("%s: %v", b.Config, err)
		}
	}
	if len(members.Cases) == 0 {
		return 0
	}
	s, err := suite.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	if s.Hook != "builtin:"+h.Name {
		t.Errorf("the example is about %q", s.Hook)
	}
	res, err := e.Hook(h.Name, h.Module).RunSuite(t.Context(), s, suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Cases {
		if c.Status() != "pass" {
			t.Errorf("%s: %v %v", c.Case, c.Err, c.Differences)
		}
	}
	return len(res.Cases)
}
