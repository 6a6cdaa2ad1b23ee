package code_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/rules/code"
	"github.com/belay-hooks/belay/internal/suite"
)

// The hook that rules become as source decides each case as the rules do: the same decision, and the same reason.
func TestSourceDecidesAsTheRules(t *testing.T) {
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, part := range map[string]rules.Part{"rules": rules.Judges, "changes": rules.Changes} {
		f := parse(t, filepath.Join("testdata", name+".yaml"))
		s, err := suite.ReadFile(filepath.Join("testdata", "cases", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		want := e.Hook(f.HookName(part), engine(t, f, part))
		for _, lang := range code.Languages() {
			t.Run(lang+"_"+name, func(t *testing.T) {
				if m := hookbuild.Missing(lang); m != "" {
					t.Fatalf("%s; scripts/setup installs it", m)
				}
				compare(t, want, e.Hook("written", written(t, f, part, lang)), s.Cases)
			})
		}
	}
}

// The examples are rules that people have: most can be written, and some of them are built. C builds the fastest.
func TestExamplesDecideAsTheRules(t *testing.T) {
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	files, err := filepath.Glob("../../../examples-rules/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	said := 0
	for _, file := range files {
		f := parse(t, file)
		part := f.Parts()[0]
		o, err := f.Outline(file, part)
		if err != nil {
			continue
		}
		said++
		for _, lang := range code.Languages() {
			if _, err := code.Write(o, "x", file, lang); err != nil {
				t.Errorf("%s: %s: %v", file, lang, err)
			}
		}
		switch filepath.Base(file) {
		case "ask-package-installs.yaml", "lease-for-production.yaml", "mcp-allow-list.yaml", "risky-runs.yaml":
			s, err := suite.ReadFile(filepath.Join(filepath.Dir(file), "cases", filepath.Base(file)))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, e.Hook(f.HookName(part), engine(t, f, part)), e.Hook("written", written(t, f, part, "c")), s.Cases)
		}
	}
	if said < 14 {
		t.Errorf("only %d of the examples can be written as source", said)
	}
}

func parse(t *testing.T, file string) *rules.File {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := rules.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// engine returns the module that `belay rules build` makes.
func engine(t *testing.T, f *rules.File, part rules.Part) []byte {
	t.Helper()
	set, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	h, err := set.Get(rules.Engine)
	if err != nil {
		t.Fatal(err)
	}
	module, err := f.Build(h.Module, part)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// written returns the module of the rules as source.
func written(t *testing.T, f *rules.File, part rules.Part, lang string) []byte {
	t.Helper()
	o, err := f.Outline("rules.yaml", part)
	if err != nil {
		t.Fatal(err)
	}
	s, err := code.Write(o, "acme/written", "rules.yaml", lang)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "written")
	if err := hookbuild.NewFrom(dir, "acme/written", lang, &hookbuild.Start{Files: s.Files, Sources: s.Describes}); err != nil {
		t.Fatal(err)
	}
	r, err := hookbuild.Build(t.Context(), dir, hookbuild.Options{StandardGo: true})
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(r.Path)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func compare(t *testing.T, want, got *suite.Hook, cases []suite.Case) {
	t.Helper()
	for i := range cases {
		w, err := want.Run(t.Context(), &cases[i])
		if err != nil {
			t.Fatal(err)
		}
		g, err := got.Run(t.Context(), &cases[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range append(w.Differences, g.Differences...) {
			t.Errorf("%s: %s", cases[i].Name, d)
		}
		if w.Verdict.Decision != g.Verdict.Decision || w.Verdict.Reason != g.Verdict.Reason ||
			!cmp.Equal(w.Verdict.Action, g.Verdict.Action) || !cmp.Equal(w.Verdict.Scopes, g.Verdict.Scopes) {
			t.Errorf("%s:\n rules: %s %q\nsource: %s %q", cases[i].Name, w.Verdict.Decision, w.Verdict.Reason,
				g.Verdict.Decision, g.Verdict.Reason)
		}
	}
}
