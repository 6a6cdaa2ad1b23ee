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

// Twenty lines of rules do what three example hooks do: their own cases pass, those that are about the configuration
// which the rules stand for.
func TestTwentyLinesDoWhatThreeHooksDo(t *testing.T) {
	src, err := os.ReadFile("testdata/three_hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), "\n"); n > 20 {
		t.Errorf("%d lines", n)
	}
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range []struct {
		cases, part, config string
		want                int
	}{
		{"ask-push/cases/push.yaml", "", "", 6},
		{"strip-ansi/cases/ansi.yaml", "#changes", "", 8},
		{"default-args/cases/args.yaml", "#changes", `{"defaults":{"exec":{"timeout":120000}}}`, 4},
	} {
		t.Run(strings.Split(c.cases, "/")[0], func(t *testing.T) {
			s, err := suite.ReadFile(filepath.Join("../../examples-wasm", c.cases))
			if err != nil {
				t.Fatal(err)
			}
			var about []suite.Case
			for _, one := range s.Cases {
				if strings.ReplaceAll(string(one.Config), " ", "") == c.config {
					one.Config = nil // the rules say it
					about = append(about, one)
				}
			}
			s.Cases = about
			if len(about) != c.want {
				t.Errorf("%d cases are about this configuration, want %d", len(about), c.want)
			}
			at, err := filepath.Abs("testdata/three_hooks.yaml")
			if err != nil {
				t.Fatal(err)
			}
			s.Hook = "rules:" + at + c.part
			runRules(t, e, s)
		})
	}
}
