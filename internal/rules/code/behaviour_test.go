package code_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/rules/code"
	"github.com/belay-hooks/belay/internal/suite"
)

// draws is how many commands beside the cases each language decides.
const draws = 300

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
				got := e.Hook("written", written(t, f, part, lang))
				compare(t, want, got, s.Cases)
				for _, c := range drawn(t, draws) {
					if w, g := both(t, want, got, &c); w.Verdict.Reason != g.Verdict.Reason {
						t.Errorf("%s\n rules: %q\nsource: %q", c.Action, w.Verdict.Reason, g.Verdict.Reason)
					}
				}
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
		case "ask-package-installs.yaml", "risky-runs.yaml":
			s, err := suite.ReadFile(filepath.Join(filepath.Dir(file), "cases", filepath.Base(file)))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, e.Hook(f.HookName(part), engine(t, f, part)), e.Hook("written", written(t, f, part, "c")), s.Cases)
		}
	}
	if said < 17 {
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
	if err := hookbuild.NewFrom(dir, "acme/written", lang, &hookbuild.Start{Files: s.Files,
		Sources: s.Describes}); err != nil {
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

// compare wants what the cases want, and the same of both hooks.
func compare(t *testing.T, want, got *suite.Hook, cases []suite.Case) {
	t.Helper()
	for i := range cases {
		w, g := both(t, want, got, &cases[i])
		for _, d := range append(w.Differences, g.Differences...) {
			t.Errorf("%s: %s", cases[i].Name, d)
		}
		if w.Verdict.Reason != g.Verdict.Reason || !cmp.Equal(w.Verdict.Action, g.Verdict.Action) ||
			!cmp.Equal(w.Verdict.Scopes, g.Verdict.Scopes) {
			t.Errorf("%s:\n rules: %q\nsource: %q", cases[i].Name, w.Verdict.Reason, g.Verdict.Reason)
		}
	}
}

// both runs both hooks, and wants one decision.
func both(t *testing.T, want, got *suite.Hook, c *suite.Case) (w, g suite.Result) {
	t.Helper()
	var err error
	if w, err = want.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if g, err = got.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if w.Verdict.Decision != g.Verdict.Decision || w.Verdict.Kind != g.Verdict.Kind {
		t.Errorf("%s: %s\n rules: %s (%s) %q\nsource: %s (%s) %q", c.Name, c.Action, w.Verdict.Decision, w.Verdict.Kind,
			w.Verdict.Reason, g.Verdict.Decision, g.Verdict.Kind, g.Verdict.Reason)
	}
	return w, g
}

// drawn are commands of words that rules ask about, in any order: what a rule reads wrongly, some of them show.
func drawn(t *testing.T, n int) []suite.Case {
	t.Helper()
	r := rand.New(rand.NewPCG(18, 7))
	words := []string{"git", "git", "push", "push", "--force", "-f", "-uf", "--forc", "--force=x", "+main", "main", ":x",
		"origin",
		"-C", "dir", "--", "'$X'", "$X", `"$(cat x)"`, "npm", "install", "sudo", "make", "deploy", "kubectl", "--context",
		"prod-1",
		"p*", "[+]m", "*", "{a,+b}", "&&", ";", "|", "--unsafe", "token=abcdef1", "python3 -c 'print(1)'",
		`awk '{ system("x") }'`,
		"eval", "xargs", "é", "\u202e", "-", "bash -c 'git push -f'", "env", "A=1", ">x", "$(", "'", "-c", "a=b", "command"}
	var b strings.Builder
	b.WriteString("cases:\n")
	for i := range n {
		var line []string
		for range 1 + r.IntN(7) {
			line = append(line, words[r.IntN(len(words))])
		}
		args := map[string]any{"command": strings.Join(line, " ")}
		if r.IntN(8) == 0 {
			args = map[string]any{"cmd": line}
		}
		action, err := json.Marshal(map[string]any{"tool": "exec", "args": args}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "  - {name: \"%d\", note: %q, phase: pre_tool, action: %s, want: {decision: allow}}\n", i, "", action)
	}
	s, err := suite.Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s.Cases
}
