package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/suite"
)

// runRules runs the cases of a suite on the rules file that it names.
func runRules(t *testing.T, e *suite.Engine, s *suite.Suite) suite.SuiteResult {
	t.Helper()
	m, err := new(suite.Locator).Module(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Hook(m.Name, m.File).RunSuite(t.Context(), s, suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Cases {
		if c.Status() != "pass" {
			t.Errorf("%s: %v %v", c.Case, c.Err, c.Differences)
		}
	}
	return res
}

// Every example of rules does what its cases say.
func TestExampleRules(t *testing.T) {
	examples, err := filepath.Glob("../../examples-rules/*.yaml")
	if err != nil || len(examples) < 20 {
		t.Fatalf("%d examples: %v", len(examples), err)
	}
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, file := range examples {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			s, err := suite.ReadFile(filepath.Join(filepath.Dir(file), "cases", filepath.Base(file)))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(s.Hook, "rules:../"+filepath.Base(file)) {
				t.Errorf("the cases are about %s", s.Hook)
			}
			if res := runRules(t, e, s); len(res.Cases) < 2 {
				t.Errorf("%d cases", len(res.Cases))
			}
		})
	}
}

// Twenty lines of rules do what three example hooks do: all of their own cases pass, as they stand.
func TestTwentyLinesDoWhatThreeHooksDo(t *testing.T) {
	src, err := os.ReadFile("testdata/three_hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), "\n"); n > 20 {
		t.Errorf("%d lines", n)
	}
	at, err := filepath.Abs("testdata/three_hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for hook, part := range map[string]string{"ask-push": "", "redact-secret": "#changes", "strip-ansi": "#changes"} {
		t.Run(hook, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join("../../examples-wasm", hook, "cases", "*.yaml"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, file := range files {
				if filepath.Base(file) == "options.yaml" { // of the hook: a rules file says the same otherwise
					continue
				}
				s, err := suite.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				s.Hook = "rules:" + at + part
				if res := runRules(t, e, s); len(res.Cases) != len(s.Cases) || len(s.Cases) < 5 {
					t.Errorf("%d of %d cases ran", len(res.Cases), len(s.Cases))
				}
			}
		})
	}
}
