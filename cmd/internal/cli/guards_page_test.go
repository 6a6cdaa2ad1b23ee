package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// fenced is one block of a page, by the language that stands behind its fence.
type fenced struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

func blocksOf(t *testing.T, page string) []fenced {
	t.Helper()
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []fenced
	for _, m := range fence.FindAllStringSubmatch(string(doc), -1) {
		out = append(out, fenced{m[1], m[2]})
	}
	return out
}

// The commands of docs/GUARDS.md and of the pages of the hooks are run as they stand there, in the order of
// their page, after `belay init`; each succeeds. Their bindings, as the belay.yaml that they are part of,
// leave no hook that blocks.
func TestGuardsPages(t *testing.T) {
	pages, err := filepath.Glob("../../../examples-wasm/*/README.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	dir := t.TempDir()
	commands := 0
	for _, page := range append(pages, "../../../docs/GUARDS.md") {
		var script, files strings.Builder
		script.WriteString("exec belay init\n")
		bindings := ""
		for n, b := range blocksOf(t, page) {
			switch {
			case b.language == "" || b.language == "sh":
				commands++
				fmt.Fprintf(&script, "exec sh -e %d.sh\n", n)
				fmt.Fprintf(&files, "-- %d.sh --\n%s", n, b.text)
			case b.language == "yaml" && strings.HasPrefix(b.text, "hooks:\n"):
				bindings += fmt.Sprintf("cp %d.yaml $BELAY_HOME/belay.yaml\nexec belay hook list\n! stdout BLOCKS\nstdout ready\n",
					n)
				fmt.Fprintf(&files, "-- %d.yaml --\nversion: belay/v1\n%s", n, b.text)
			}
		}
		if files.Len() == 0 {
			continue
		}
		script.WriteString("exec belay hook list\n! stdout BLOCKS\n" + bindings)
		name := filepath.Base(filepath.Dir(page)) + ".txtar"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script.String()+files.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if commands < 3 {
		t.Fatalf("%d blocks of commands", commands)
	}
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, Setup: func(env *testscript.Env) error {
		home := filepath.Join(env.WorkDir, "home")
		env.Setenv("HOME", home)
		env.Setenv("BELAY_HOME", filepath.Join(env.WorkDir, "state"))
		return os.MkdirAll(home, 0o700)
	}})
}
