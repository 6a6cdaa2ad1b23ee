package rules_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/tiers"
)

func engine(t testing.TB) []byte {
	t.Helper()
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	h, err := set.Get(rules.Engine)
	if err != nil {
		t.Fatal(err)
	}
	return h.Module
}

func build(t testing.TB, src string, p rules.Part) []byte {
	t.Helper()
	m, err := rules.Compile("rules.yaml", []byte(src), engine(t), p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func manifest(t testing.TB, module []byte) *tiers.Manifest {
	t.Helper()
	m, err := wasm.Parse(module, wasm.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Customs {
		if c.Name == wasm.ManifestSection {
			d, err := tiers.DecodeManifest(c.Payload)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatal("no manifest")
	return nil
}

const both = `version: rules/v1
rules:
  - {name: b, when: {command: git push}, ask: why}
  - {name: a, phase: spawn, when: {}, limit: {count: 2, per: 1h}}
  - {name: c, phase: post_tool, when: {}, redact: {match: secret}}
`

// The same file becomes the same bytes.
func TestBuildsAreTheSame(t *testing.T) {
	for _, p := range []rules.Part{rules.Judges, rules.Changes} {
		if !bytes.Equal(build(t, both, p), build(t, both, p)) {
			t.Errorf("%s: other bytes", p)
		}
	}
	f, err := rules.Parse("x", []byte(one("when: {}\nblock: x")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Build(engine(t), rules.Changes); !errors.Is(err, rules.ErrNoPart) {
		t.Error(err)
	}
	if got := f.Parts(); !slices.Equal(got, []rules.Part{rules.Judges}) {
		t.Error(got)
	}
}

// A module asks for what its rules need: nothing else is imported, exported or declared.
func TestModulesAskForWhatRulesNeed(t *testing.T) {
	for _, c := range []struct {
		part                            rules.Part
		phases, mutates, wants, imports string
	}{
		{rules.Judges, "pre_tool spawn", "", "block request_approval shell_parse state_get state_put",
			"block fail input_get input_kind input_read log reply_read request_approval shell_parse state_get state_put"},
		{rules.Changes, "post_tool", "post_tool", "block pattern_match rewrite:/result",
			"block fail input_get input_kind input_read log pattern_match reply_read rewrite"},
	} {
		module := build(t, both, c.part)
		m := manifest(t, module)
		var phases, mutates, wants, imports []string
		for _, p := range m.Phases {
			phases = append(phases, string(p))
		}
		for _, p := range m.Mutates {
			mutates = append(mutates, string(p))
		}
		for _, w := range m.Capabilities {
			wants = append(wants, w.Name)
		}
		parsed, err := wasm.Parse(module, wasm.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		for _, im := range parsed.Imports {
			imports = append(imports, im.Name)
		}
		slices.Sort(imports)
		for _, v := range []struct{ what, got, want string }{
			{"phases", strings.Join(phases, " "), c.phases}, {"mutates", strings.Join(mutates, " "), c.mutates},
			{"capabilities", strings.Join(wants, " "), c.wants}, {"imports", strings.Join(imports, " "), c.imports},
		} {
			if v.got != v.want {
				t.Errorf("%s: %s\n got %s\nwant %s", c.part, v.what, v.got, v.want)
			}
		}
		if len(parsed.Exports) != len(m.Phases)+1 {
			t.Errorf("%s: exports %v", c.part, parsed.Exports)
		}
	}
}

// A module says which rules are in it.
func TestModulesListTheirRules(t *testing.T) {
	got, err := json.Marshal(rules.ReadListed(build(t, both, rules.Judges)).Rules)
	const want = `[{"name":"a","phases":["spawn"],"answer":"limit"},{"name":"b","phases":["pre_tool"],"answer":"ask"}]`
	if err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	if rules.ReadListed(engine(t)) != nil || rules.ReadListed([]byte("x")) != nil {
		t.Error("rules where there are none")
	}
}
